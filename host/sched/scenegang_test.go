package sched

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// gang reads the fields behind gang NAME: min=N, pack=KEY or spread=KEY:SKEW, then
// 3x and what each of three members asks for, and so on per role.
func (s *scene) gang(name string, fields []string) []*state.Job {
	s.t.Helper()
	spec := poise.Gang{ID: name}
	var members []poise.Job
	times, role := 0, []string(nil)
	flush := func() {
		for range times {
			members = append(members, parseJob(s.t, fmt.Sprint(name, "-", len(members)), role))
		}
		times, role = 0, nil
	}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case key == "min":
			spec.Min = int32(number(s.t, value))
		case key == "pack":
			spec.Topology = &poise.Topology{Key: value, Mode: poise.TopologyPack}
		case key == "spread":
			label, skew, _ := strings.Cut(value, ":")
			spec.Topology = &poise.Topology{Key: label, Mode: poise.TopologySpread, MaxSkew: int32(number(s.t, skew))}
		case strings.HasSuffix(f, "x"):
			flush()
			n, err := strconv.Atoi(strings.TrimSuffix(f, "x"))
			if err != nil {
				s.t.Fatalf("%v", err)
			}
			times = n
		default:
			role = append(role, f)
		}
	}
	flush()
	spec.Size = int32(len(members))
	var core []*state.Job
	for i := range members {
		m := spec
		m.Index = int32(i)
		j := &members[i]
		j.Gang, j.Tenant, j.Tasks, j.Name = &m, "t", spec.Size, string(j.ID)
		s.apply(poise.JobSubmitted{Job: *j})
		if !m.Extra() {
			core = append(core, s.state.Job(j.ID))
		}
	}
	return core
}

// showGang decides about a gang and writes that down; what is placed is committed.
func (s *scene) showGang(fields []string, members []*state.Job) {
	s.t.Helper()
	if s.pipeline == nil {
		s.pipeline = NewPipeline(s.policy)
	}
	before := s.state.View().Version()
	plan, err := s.pipeline.PlanGang(s.state.View(), members, Pass{Detail: Full})
	if err != nil || s.state.View().Version() != before {
		s.t.Fatalf("plan a gang: %v, version %d, expected %d", err, s.state.View().Version(), before)
	}
	d := &plan.Decision
	fmt.Fprintf(&s.out, "%s\n  %s", strings.Join(fields, " "), d.Verdict)
	if plan.Members == nil {
		fmt.Fprintf(&s.out, "; %s\n", d.Gang)
		for _, c := range d.Refused {
			fmt.Fprintf(&s.out, "  refused %d: %s\n", c.Nodes, because(c.Code, c.Dim))
		}
		return
	}
	fmt.Fprintln(&s.out)
	var body poise.GangPlaced
	for i := range plan.Members {
		m := &plan.Members[i]
		fmt.Fprintf(&s.out, "  %s, %d. of %d: %s", m.Job, m.Gang.Fitted+1, m.Gang.Min, place(m.Node, m.Devices))
		if m.Gang.Domain != "" {
			fmt.Fprintf(&s.out, " (%s: %s)", m.Gang.Topology, m.Gang.Domain)
		}
		fmt.Fprintf(&s.out, "; %d of %d nodes fit, %d looked at, loss %.6f\n", m.Fitting, m.Nodes, m.Looked, m.Ranked[0].Loss)
		body.Placements = append(body.Placements, poise.Placement{Job: m.Job, Node: m.Node, Devices: m.Devices})
	}
	s.apply(body)
}

// beside decides about a member of a gang that has started.
func (s *scene) beside(fields []string, j *state.Job) {
	s.t.Helper()
	bars := []Bar(nil)
	if j.Gang.Topology != nil {
		bars = append(bars, Beside(s.state.View(), j, s.state.Beside(j)))
	}
	d, err := s.pipeline.Plan(s.state.View(), j, Pass{Detail: Full, Bars: bars})
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	fmt.Fprintf(&s.out, "%s\n  %s %s; %d of %d nodes fit\n", strings.Join(fields, " "), d.Verdict, d.Node, d.Fitting, d.Nodes)
	for _, c := range d.Refused {
		fmt.Fprintf(&s.out, "  refused %d: %s\n", c.Nodes, because(c.Code, c.Dim))
	}
	if d.Verdict == poise.Placed {
		s.commit(&d)
	}
}

// A gang of equal members costs one look at the fleet and one row per member.
func TestGangLooks(t *testing.T) {
	s := &scene{world: newWorld(t), policy: idleBalance(t)}
	for i := range 200 {
		s.join(parseNode(t, fmt.Sprintf("n%03d", i), []string{"cpu=8", "memory=16Gi"}))
	}
	s.pipeline = NewPipeline(s.policy)
	members := s.gang("g", []string{"50x", "cpu=2"})
	plan, err := s.pipeline.PlanGang(s.state.View(), members, Pass{Detail: Brief})
	if err != nil || plan.Members == nil {
		t.Fatalf("%+v, %v", plan.Decision, err)
	}
	looked := 0
	for _, d := range plan.Members {
		looked += d.Looked
	}
	if looked != 200+49 {
		t.Errorf("%d rows looked at, expected 249", looked)
	}
	again, err := s.pipeline.PlanGang(s.state.View(), members, Pass{Detail: Brief})
	if err != nil || again.Members[0].Looked > 50 {
		t.Errorf("%d rows looked at the second time, expected those of the first trial (%v)", again.Members[0].Looked, err)
	}
	for i := range again.Members {
		if again.Members[i].Node != plan.Members[i].Node {
			t.Errorf("member %d goes to %s, and to %s the second time", i, plan.Members[i].Node, again.Members[i].Node)
		}
	}
}

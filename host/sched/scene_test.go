package sched

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/state"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the decisions of the scenes anew")

// A scene is a small fleet and a few jobs, and every decision about them in
// full. The decisions were checked by hand. The lines of a scene:
//
//	policy [auto|spread|demand|flat] [unprotected] [ties=seeded|published] [seed=N] [order=NAME,…]
//	node NAME cpu=8 memory=16Gi gpu=4:MODEL fpga=2 [exclusive] [drained] [notready] [label=KEY:VALUE] [taint=KEY:VALUE:EFFECT]
//	change NAME …            the node describes itself anew
//	mark NAME [drained] [notready]
//	leave NAME
//	run JOB NODE[0,1] …      the job runs there, with these devices; nothing is decided
//	finish JOB
//	job NAME cpu=2 gpu=0.5:MODEL,… [select=KEY:OP:VALUE,…] [tolerate=KEY[:VALUE[:EFFECT]]]
//	                         decided, and placed where it fits
//	plan NAME …              decided and withdrawn
//	again NAME               a job that waits is decided again
//	gang NAME [min=N] [pack=KEY|spread=KEY:SKEW] 3x cpu=2 1x gpu=1 …
//	                         a gang NAME-0 … is decided as a whole, and placed where it fits
//	gangagain NAME           a gang that waits is decided again
//	member NAME              a member of a gang that has started is decided, beside the others
func TestScenes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.scene"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".scene"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[0].Name != "scene" || archive.Files[1].Name != "decisions" {
				t.Fatalf("%s: expected the files scene and decisions", path)
			}
			got, want := play(t, string(archive.Files[0].Data)), &archive.Files[1]
			switch {
			case bytes.Equal(got, want.Data):
			case *update:
				want.Data = got
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("decided\n%s\nexpected\n%s", got, want.Data)
			}
		})
	}
}

// scene plays the lines of one scene.
type scene struct {
	*world
	policy   Policy
	pipeline *Pipeline
	out      bytes.Buffer
}

func play(t *testing.T, text string) []byte {
	t.Helper()
	s := &scene{world: newWorld(t), policy: idleBalance(t)}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			s.line(fields)
		}
	}
	return s.out.Bytes()
}

func (s *scene) line(fields []string) {
	s.t.Helper()
	name, rest := "", fields[1:]
	if fields[0] != "policy" {
		if len(rest) == 0 {
			s.t.Fatalf("%s: expected a name", fields[0])
		}
		name, rest = rest[0], rest[1:]
	}
	switch fields[0] {
	case "policy":
		s.setPolicy(rest)
	case "node":
		s.join(parseNode(s.t, name, rest))
	case "change":
		s.apply(poise.NodeChanged{Node: parseNode(s.t, name, rest)})
	case "mark":
		n := parseNode(s.t, name, rest)
		s.apply(poise.NodeMarked{Name: name, Drained: n.Drained, NotReady: n.NotReady})
	case "leave":
		s.apply(poise.NodeLeft{Name: name})
	case "run":
		place := parsePlace(s.t, poise.JobID(name), rest[0])
		s.arrive(parseJob(s.t, name, rest[1:]))
		s.apply(poise.JobPlaced{Placement: place})
	case "finish":
		s.apply(poise.JobFinished{Job: poise.JobID(name)})
	case "job":
		s.decide(fields, s.arrive(parseJob(s.t, name, rest)))
	case "again":
		s.decide(fields, s.state.Job(poise.JobID(name)))
	case "gang":
		s.showGang(fields, s.gang(name, rest))
	case "gangagain":
		s.showGang(fields, s.state.GangOf(s.state.Job(poise.JobID(name+"-0"))).Core())
	case "member":
		s.beside(fields, s.state.Job(poise.JobID(name)))
	case "plan":
		s.show(fields, s.arrive(parseJob(s.t, name, rest)))
		s.apply(poise.JobWithdrawn{Job: poise.JobID(name)})
	default:
		s.t.Fatalf("%q: expected a line as TestScenes lists them", fields[0])
	}
}

func (s *scene) setPolicy(fields []string) {
	s.t.Helper()
	s.policy, s.pipeline = idleBalance(s.t), nil
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "unprotected":
			s.policy.ProtectDevices = false
		case "seed":
			s.policy.Seed = uint64(number(s.t, value))
		case "ties":
			s.policy.Ties = map[string]Ties{"name": ByName, "seeded": Seeded, "published": Published}[value]
		case "order":
			s.policy.Order = map[string]uint64{}
			for i, name := range strings.Split(value, ",") {
				s.policy.Order[name] = uint64(i)
			}
		default:
			s.policy.Name = key
		}
	}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	demand, err := balance.NewDemand(balance.Defaults())
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	switch s.policy.Name {
	case "spread":
		s.policy.Scorer = spread
	case "demand":
		s.policy.Scorer = demand
	case "flat":
		s.policy.Scorer = constant(0)
	default:
		s.policy.Scorer = balance.NewAuto(spread, demand, s.policy.ProtectDevices)
	}
}

// arrive submits a job, and begins a profile epoch where one is due.
func (s *scene) arrive(j poise.Job) *state.Job {
	s.t.Helper()
	job, params := s.submit(j), balance.Defaults()
	if balance.Due(s.state.View(), &params) {
		s.apply(poise.ProfileBuilt{Profiles: balance.BuildProfiles(s.state.View(), s.state.Demand(), &params)})
	}
	return job
}

func (s *scene) decide(fields []string, j *state.Job) {
	s.t.Helper()
	if d := s.show(fields, j); d.Verdict == poise.Placed {
		s.commit(&d)
	}
}

// show writes down a decision.
func (s *scene) show(fields []string, j *state.Job) poise.Decision {
	s.t.Helper()
	if s.pipeline == nil {
		s.pipeline = NewPipeline(s.policy)
	}
	d := mustPlan(s.t, s.pipeline, s.state.View(), j)
	checkExplained(s.t, &d)
	fmt.Fprintf(&s.out, "%s\n  %s", strings.Join(fields, " "), d.Verdict)
	if d.Verdict == poise.Placed {
		fmt.Fprintf(&s.out, " on %s", place(d.Node, d.Devices))
	}
	fmt.Fprintf(&s.out, "; %d of %d nodes fit, %d looked at\n", d.Fitting, d.Nodes, d.Looked)
	for _, r := range d.Ranked {
		fmt.Fprintf(&s.out, "  tier %d  loss %12.9f  %s", r.Tier, r.Loss, place(r.Node, r.Devices))
		for i, c := range r.Columns {
			sign := "  +"
			if i == 0 {
				sign = "  " + r.Formula + ":"
			}
			fmt.Fprintf(&s.out, "%s %.4g*(%.4f - %.4f) %s", sign, c.Factor, c.M1, c.M2, c.Name)
		}
		fmt.Fprintln(&s.out)
	}
	for _, c := range d.Refused {
		fmt.Fprintf(&s.out, "  refused %d: %s\n", c.Nodes, because(c.Code, c.Dim))
	}
	if m := d.Nearest; m != nil {
		fmt.Fprintf(&s.out, "  nearest %s: %s", m.Node, because(m.Code, m.Dim))
		if m.Ask > 0 {
			fmt.Fprintf(&s.out, ", %s of %s, %s short", resource.Format(m.Dim, m.Have), resource.Format(m.Dim, m.Ask), resource.Format(m.Dim, m.Beyond))
		}
		fmt.Fprintln(&s.out)
	}
	return d
}

func place(node string, devices []uint16) string {
	if len(devices) == 0 {
		return node
	}
	return node + strings.ReplaceAll(fmt.Sprint(devices), " ", ",")
}

func because(code poise.ReasonCode, dim string) string {
	if dim == "" {
		return code.String()
	}
	return code.String() + ": " + dim
}

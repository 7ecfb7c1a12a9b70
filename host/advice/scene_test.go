package advice

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

var update = flag.Bool("update", false, "write the advice of the scenes anew")

// fleet makes a state: nodes, with classes, and jobs, of which those named run…
// run where they go first.
func fleet(t testing.TB, nodesText, jobsText string, tenants ...poise.Tenant) *state.State {
	t.Helper()
	nodes, err := manifest.DecodeNodes("nodes.yaml", strings.NewReader(nodesText))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := manifest.DecodeJobs("jobs.yaml", strings.NewReader(jobsText))
	if err != nil {
		t.Fatal(err)
	}
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(body poise.Body) {
		t.Helper()
		if err := s.Apply(poise.Event{Index: s.Index() + 1, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		apply(poise.NodeJoined{Node: nodes[i]})
	}
	m, err := model.Build(nodes, model.Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	apply(m.Built(nodes))
	for _, tenant := range tenants {
		apply(poise.TenantSet{Tenant: tenant})
	}
	scorer, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatal(err)
	}
	pipeline := sched.NewPipeline(sched.Policy{Name: "spread", Scorer: scorer})
	for i := range jobs {
		j := jobs[i].Job
		for _, after := range jobs[i].Task.After {
			j.After = append(j.After, poise.JobID(after))
		}
		apply(poise.JobSubmitted{Job: j})
		if !strings.HasPrefix(j.Name, "run") {
			continue
		}
		d, err := pipeline.Plan(s.View(), s.Job(j.ID), sched.Pass{})
		if err != nil || d.Verdict != poise.Placed {
			t.Fatalf("job %s: %v, %v", j.ID, d.Verdict, err)
		}
		apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}})
	}
	return s
}

// Golden scenes: fleet and jobs in, advice out. The advice was checked by hand.
func TestScenes(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.scene")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var tenants []poise.Tenant
		if strings.Contains(path, "quota") {
			tenants = []poise.Tenant{{ID: "small", Quotas: []poise.Quota{{Resource: "cpu", Limit: 2000}}}}
		}
		a, err := Gather(fleet(t, string(archive.Files[0].Data), string(archive.Files[1].Data), tenants...)).Advise()
		if err != nil {
			t.Fatal(err)
		}
		got := text(a)
		if *update {
			archive.Files[2].Data = []byte(got)
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := string(archive.Files[2].Data); got != want {
			t.Errorf("%s; go test -update writes it anew. Got\n%swant\n%s", path, got, want)
		}
	}
}

func text(a *Advice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d wait: %d fit, %d blocked, %d over quota, %d lack room\n", a.Waiting, a.Fits, a.Blocked, a.Over, a.Lacking)
	for i := range a.Classes {
		c := &a.Classes[i]
		capacity, _ := json.Marshal(c.Node.Capacity)
		fmt.Fprintf(&b, "class %s: %d nodes of %s, %d devices; %d more, at least %d, start %d, %d left\n",
			c.Name, c.Nodes, capacity, c.Node.Devices.Count, c.More, c.AtLeast, c.Starts, c.Left)
	}
	for _, s := range a.Together {
		fmt.Fprintf(&b, "add %d of %s: %d start\n", s.Nodes, s.Class, s.Jobs)
	}
	for i := range a.Helpless {
		h := &a.Helpless[i]
		miss := "nothing"
		if h.Miss != nil {
			miss = fmt.Sprintf("%s: %v %s, asks for %d, has %d", h.Miss.Node, h.Miss.Code, h.Miss.Dim, h.Miss.Ask, h.Miss.Have)
		}
		fmt.Fprintf(&b, "helpless %s of %s, %d: nearest %s\n", h.Job, h.Tenant, h.Jobs, miss)
	}
	for _, u := range a.Unneeded {
		fmt.Fprintf(&b, "unneeded %s: %s\n", u.Class, strings.Join(u.Nodes, " "))
	}
	return b.String()
}

package report

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/balance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what was printed with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test -update writes it anew. Printed:\n%s\nExpected:\n%s", path, got, want)
	}
}

// scene is a fleet under the default policy.
type scene struct {
	t        testing.TB
	state    *state.State
	pipeline *sched.Pipeline
	index    uint64
}

func newScene(t testing.TB, ties sched.Ties) *scene {
	t.Helper()
	s, err := state.New(state.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	spread, err := balance.NewSpread(nil)
	if err != nil {
		t.Fatal(err)
	}
	demand, err := balance.NewDemand(balance.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	policy := sched.Policy{
		Name: "idle-balance", Scorer: balance.NewAuto(spread, demand, true), ProtectDevices: true, Ties: ties, Seed: 42,
	}
	return &scene{t: t, state: s, pipeline: sched.NewPipeline(policy)}
}

func (s *scene) apply(body poise.Body) {
	s.t.Helper()
	s.index++
	if err := s.state.Apply(poise.Event{Index: s.index, Body: body}); err != nil {
		s.t.Fatal(err)
	}
}

// list reads "cpu=8 memory=64Gi".
func list(t testing.TB, text string) resource.List {
	t.Helper()
	var amounts []resource.Amount
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		amount, err := resource.ParseRequest(name, value)
		if err != nil {
			t.Fatal(err)
		}
		amounts = append(amounts, resource.Amount{Name: name, Value: amount})
	}
	l, err := resource.NewList(amounts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *scene) join(name, capacity string, devices poise.Devices) {
	s.t.Helper()
	s.apply(poise.NodeJoined{Node: poise.Node{Name: name, Capacity: list(s.t, capacity), Devices: devices}})
}

// submit makes a job wait, with the profile that is in force from then on.
func (s *scene) submit(j poise.Job) *state.Job {
	s.t.Helper()
	if j.Name == "" {
		j.Name = string(j.ID)
	}
	j.Tenant, j.Tasks = "vision", 1
	s.apply(poise.JobSubmitted{Job: j})
	p := balance.Defaults()
	s.apply(poise.ProfileBuilt{Profiles: balance.BuildProfiles(s.state.View(), s.state.Demand(), &p)})
	return s.state.Job(j.ID)
}

func (s *scene) plan(j *state.Job) *poise.Decision {
	s.t.Helper()
	d, err := s.pipeline.Plan(s.state.View(), j, sched.Pass{Detail: sched.Full})
	if err != nil {
		s.t.Fatal(err)
	}
	return &d
}

func (s *scene) run(id, ask string, device poise.DeviceRequest, node string, devices ...uint16) {
	s.t.Helper()
	s.submit(poise.Job{ID: poise.JobID(id), Request: poise.Request{Amounts: list(s.t, ask), Device: device}})
	s.apply(poise.JobPlaced{Placement: poise.Placement{Job: poise.JobID(id), Node: node, Devices: devices}})
}

func (s *scene) why(j *state.Job, d *poise.Decision, attempt, attempts int) []byte {
	s.t.Helper()
	var b bytes.Buffer
	if err := Why(&b, j, d, attempt, attempts); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

// mixed is a fleet of three makes with something running on it.
func mixed(t testing.TB, ties sched.Ties) *scene {
	s := newScene(t, ties)
	for i := range 3 {
		s.join(fmt.Sprintf("cpu-a-%02d", i+1), "cpu=32 memory=128Gi", poise.Devices{})
	}
	for i := range 4 {
		s.join(fmt.Sprintf("gpu-a-%02d", i+1), "cpu=96 memory=384Gi", poise.Devices{Kind: "gpu", Model: "A10", Count: 4})
	}
	for i := range 2 {
		s.join(fmt.Sprintf("gpu-v-%02d", i+1), "cpu=64 memory=256Gi", poise.Devices{Kind: "gpu", Model: "V100", Count: 8})
	}
	s.apply(poise.NodeMarked{Name: "gpu-a-04", Drained: true})
	s.run("etl", "cpu=28 memory=64Gi", poise.DeviceRequest{}, "cpu-a-01")
	s.run("etl-2", "cpu=4.5 memory=96Gi", poise.DeviceRequest{}, "cpu-a-02")
	s.run("serve", "cpu=10 memory=20Gi", poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}, "gpu-a-01", 0)
	s.run("train", "cpu=48 memory=100Gi", poise.DeviceRequest{Kind: "gpu", Count: 2, Milli: 1000}, "gpu-a-02", 0, 1)
	s.run("train-2", "cpu=24 memory=60Gi", poise.DeviceRequest{Kind: "gpu", Count: 7, Milli: 1000}, "gpu-v-01", 0, 1, 2, 3, 4, 5, 6)
	return s
}

func TestWhyPlaced(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{
		ID: "j-0017", Name: "train-resnet", Priority: 10, RunTime: 5_400_000,
		Request: poise.Request{
			Amounts: list(t, "cpu=8 memory=48Gi"),
			Device:  poise.DeviceRequest{Kind: "gpu", Count: 2, Milli: 1000, Models: []string{"A10", "V100"}},
		},
		Selectors:   []poise.Selector{{Key: "zone", Op: poise.NotIn, Values: []string{"c"}}},
		Tolerations: []poise.Toleration{{Key: "dedicated", Value: "ml", Effect: poise.NoSchedule}},
	})
	golden(t, "why_placed", s.why(j, s.plan(j), 1, 1))
}

// A job without devices goes to the tier of nodes without devices.
func TestWhySpread(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "web", Request: poise.Request{Amounts: list(t, "cpu=3.3 memory=20Gi")}})
	golden(t, "why_spread", s.why(j, s.plan(j), 1, 1))
}

func TestWhyTier(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "web", Request: poise.Request{Amounts: list(t, "cpu=30 memory=20Gi")}})
	golden(t, "why_tier", s.why(j, s.plan(j), 1, 1))
}

func TestWhyFitsNotNow(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "big", Request: poise.Request{
		Amounts: list(t, "cpu=50 memory=200Gi"),
		Device:  poise.DeviceRequest{Kind: "gpu", Count: 4, Milli: 1000, Models: []string{"A10"}},
	}})
	s.run("more", "cpu=4 memory=20Gi", poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1000}, "gpu-a-03", 1)
	golden(t, "why_fits_not_now", s.why(j, s.plan(j), 3, 7))
}

// What a policy that fails says of the job is not that it does not fit.
func TestWhyPolicyFaulted(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "web", Request: poise.Request{Amounts: list(t, "cpu=1")}})
	d := &poise.Decision{
		Job: j.ID, Verdict: poise.FitsNotNow, Policy: "talk", Ties: "name", Nodes: 9, Fault: "talk: trap",
		Reasons: []poise.Reason{poise.NewReason(poise.PolicyFaulted, 0)},
	}
	golden(t, "why_policy_faulted", s.why(j, d, 1, 1))
}

// Columns of plugins stand below each other, what is absent as a dash.
func TestWhySeen(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "web", Request: poise.Request{Amounts: list(t, "cpu=1")}})
	ranked := func(node, zone string) poise.Ranked {
		return poise.Ranked{Node: node, Formula: "near", Seen: []poise.Reading{{Name: "running_tasks", Text: "2"}, {Name: "label zone", Text: zone}}}
	}
	d := &poise.Decision{
		Job: j.ID, Node: "a", Policy: "near", Ties: "name", Nodes: 3, Fitting: 2, Ranked: []poise.Ranked{ranked("a", "east"), ranked("b", "")},
	}
	golden(t, "why_seen", s.why(j, d, 1, 1))
}

func TestWhyNeverFits(t *testing.T) {
	s := mixed(t, sched.ByName)
	j := s.submit(poise.Job{ID: "huge", Request: poise.Request{Amounts: list(t, "cpu=128 memory=300Gi")}})
	golden(t, "why_never_fits", s.why(j, s.plan(j), 1, 1))
}

func TestWhyTie(t *testing.T) {
	ask := poise.Job{ID: "web", Request: poise.Request{
		Amounts: list(t, "cpu=4 memory=8Gi"), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 250, Models: []string{"A10"}},
	}}
	for _, ties := range []sched.Ties{sched.ByName, sched.Seeded} {
		s := newScene(t, ties)
		for i := range 6 {
			s.join(fmt.Sprintf("gpu-a-%02d", i+1), "cpu=96 memory=384Gi", poise.Devices{Kind: "gpu", Model: "A10", Count: 4})
		}
		j := s.submit(ask)
		golden(t, "why_tie_"+ties.String(), s.why(j, s.plan(j), 1, 1))
	}
}

func TestMissText(t *testing.T) {
	f := func(device poise.DeviceRequest, m poise.Miss, want string) {
		t.Helper()
		m.Node, m.Beyond = "n7", m.Ask-m.Have
		if got := missText(&poise.Request{Device: device}, &m); got != want {
			t.Errorf("%+v reads %q, expected %q", m, got, want)
		}
	}
	whole := poise.DeviceRequest{Kind: "gpu", Count: 4, Milli: 1000}
	share := poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 500}
	f(whole, poise.Miss{Code: poise.IdleShort, Dim: "cpu", Ask: 4000, Have: 3500}, "node n7 has 3.5 of 4 cpu idle: 500m too little")
	f(whole, poise.Miss{Code: poise.IdleShort, Dim: "cpu", Ask: 4000, Have: -500}, "node n7 has -500m of 4 cpu idle: 4.5 too little")
	f(whole, poise.Miss{Code: poise.CapacityShort, Dim: "memory", Ask: 64 << 30, Have: 32 << 30}, "node n7 has 32Gi of 64Gi memory in all: 32Gi too little")
	f(whole, poise.Miss{Code: poise.DeviceIdleShort, Dim: "gpu", Ask: 4000, Have: 3000}, "node n7 has 3 of 4 whole gpu idle: 1 too few")
	f(share, poise.Miss{Code: poise.DeviceIdleShort, Dim: "gpu", Ask: 500, Have: 300},
		"node n7 has at most 300m of one gpu idle, of the 500m asked for: 200m too little")
	f(whole, poise.Miss{Code: poise.DeviceCapacityShort, Dim: "gpu", Ask: 4000, Have: 2000}, "node n7 has 2 of 4 gpu in all: 2 too few")
	f(whole, poise.Miss{Code: poise.TaintNotTolerated}, "node n7: a taint that the job does not tolerate")
	f(share, poise.Miss{Code: poise.DeviceExclusive, Dim: "gpu"}, "node n7: whole gpu only, and the job asks for 500m of one gpu")
}

// Every code has words of its own, none of them with a hole.
func TestRefusalTexts(t *testing.T) {
	ask := &poise.Request{
		Amounts: list(t, "cpu=4"), Device: poise.DeviceRequest{Kind: "gpu", Count: 2, Milli: 1000, Models: []string{"A10"}},
	}
	var seen []string
	for code := poise.SelectorMismatch; code < poise.ReasonCodes; code++ {
		dim := "gpu"
		if code == poise.CapacityShort || code == poise.IdleShort {
			dim = "cpu"
		}
		text := refusalText(ask, code, dim)
		if text == code.String() || strings.Contains(text, "-") || slices.Contains(seen, text) {
			t.Errorf("code %d reads %q, expected words of its own", code, text)
		}
		seen = append(seen, text)
	}
}

func TestRequestWords(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("reads %q, expected %q", got, want)
		}
	}
	f(requestText(&poise.Request{}), "nothing")
	f(requestText(&poise.Request{Amounts: list(t, "memory=1.5Gi cpu=0.5")}), "500m cpu, 1.5Gi memory")
	f(requestText(&poise.Request{Device: poise.DeviceRequest{Kind: "npu", Count: 1, Milli: 250}}), "250m of one npu")
	f(selectorText(&poise.Selector{Key: "zone", Op: poise.In, Values: []string{"a", "b"}}), "zone is one of a, b")
	f(selectorText(&poise.Selector{Key: "zone", Op: poise.NotIn, Values: []string{"a"}}), "zone is none of a")
	f(selectorText(&poise.Selector{Key: "zone", Op: poise.Exists}), "zone is set")
	f(selectorText(&poise.Selector{Key: "zone", Op: poise.DoesNotExist}), "zone is not set")
	f(selectorText(&poise.Selector{Key: "age", Op: poise.Gt, Values: []string{"3"}}), "age is above 3")
	f(selectorText(&poise.Selector{Key: "age", Op: poise.Lt, Values: []string{"3"}}), "age is below 3")
	f(selectorText(&poise.Selector{Key: "a\x1b[2Jb", Op: poise.Exists}), `"a\x1b[2Jb" is set`)
	f(tolerationText(&poise.Toleration{Exists: true}), "every taint")
	f(tolerationText(&poise.Toleration{Key: "spot", Exists: true, Effect: poise.NoExecute}), "taint spot of any value with effect NoExecute")
	f(tolerationText(&poise.Toleration{Key: "spot"}), "taint spot=")
	f(tolerationText(&poise.Toleration{Key: "spot", Value: "yes"}), "taint spot=yes")
}

// The terms as shown add up to the loss as shown, whatever the fleet and job.
func TestMatricesAddUp(t *testing.T) {
	block := regexp.MustCompile(`(?m)^loss of (\S+) by \S+\n((?:  .*\n)+)`)
	rapid.Check(t, func(rt *rapid.T) {
		s := newScene(t, sched.ByName)
		amount := func(lo, hi int, label string) int { return rapid.IntRange(lo, hi).Draw(rt, label) }
		for i := range amount(1, 5, "nodes") {
			devices := poise.Devices{}
			if n := amount(0, 8, "devices"); n > 0 {
				devices = poise.Devices{Kind: "gpu", Count: int32(n)}
			}
			s.join(fmt.Sprintf("n%d", i), fmt.Sprintf("cpu=%d memory=%dMi", amount(1, 128, "cpu"), amount(1, 1<<19, "memory")), devices)
		}
		for i := range amount(1, 8, "jobs") {
			device := poise.DeviceRequest{}
			if n := amount(0, 3, "count"); n == 1 {
				device = poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: int32(amount(1, 1000, "milli"))}
			} else if n > 1 {
				device = poise.DeviceRequest{Kind: "gpu", Count: int32(n), Milli: 1000}
			}
			ask := fmt.Sprintf("cpu=%dm memory=%dMi", amount(0, 20_000, "ask"), amount(0, 1<<16, "ask memory"))
			j := s.submit(poise.Job{ID: poise.JobID(fmt.Sprintf("j%d", i)), Request: poise.Request{Amounts: list(t, ask), Device: device}})
			d := s.plan(j)
			text := string(s.why(j, d, 1, 1))
			for _, line := range strings.Split(text, "\n") {
				if len(line) > 104 {
					rt.Fatalf("a line of %d columns: %s", len(line), line)
				}
			}
			blocks := block.FindAllStringSubmatch(text, -1)
			for _, m := range blocks {
				addsUp(rt, d, m[1], m[2])
			}
			if d.Verdict == poise.Placed {
				s.apply(poise.JobPlaced{Placement: poise.Placement{Job: j.ID, Node: d.Node, Devices: d.Devices}})
			}
		}
	})
}

func addsUp(t *rapid.T, d *poise.Decision, node, block string) {
	sum := new(big.Rat)
	for _, line := range strings.Split(strings.TrimSpace(block), "\n")[1:] {
		words := strings.Fields(line)
		last, ok := new(big.Rat).SetString(words[len(words)-1])
		if !ok {
			t.Fatalf("no number at the end of %q", line)
		}
		switch words[0] {
		case "sum":
			if last.Cmp(sum) != 0 {
				t.Fatalf("terms of %s add up to %s:\n%s", node, sum.FloatString(15), block)
			}
		case "loss":
			if unsigned(sum.FloatString(9)) != words[len(words)-1] {
				t.Fatalf("terms of %s add up to %s:\n%s", node, sum.FloatString(15), block)
			}
			i := slices.IndexFunc(d.Ranked, func(r poise.Ranked) bool { return r.Node == node })
			if got, _ := last.Float64(); got != d.Ranked[i].Loss {
				t.Fatalf("loss of %s is %v:\n%s", node, d.Ranked[i].Loss, block)
			}
		default:
			sum.Add(sum, last)
		}
	}
}

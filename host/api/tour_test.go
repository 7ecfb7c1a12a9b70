package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// daemons serves b over TCP and on a socket and gives a client of each.
func daemons(t *testing.T, b *apitest.Backend) map[string]*client.Client {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	handler := api.New(b, api.Options{
		Limits: func() api.Limits { return api.Limits{MaxBody: 1 << 20, Rate: 1e6, Burst: 1e6} }, Log: slog.New(slog.DiscardHandler),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "figures") }),
	})
	clients := map[string]*client.Client{}
	for address, l := range map[string]net.Listener{tcp.Addr().String(): tcp, path: socket} {
		server := api.Server(handler, api.Timeouts{Request: 20 * time.Second, Idle: time.Minute})
		ctx, cancel := context.WithCancel(context.Background())
		server.BaseContext = func(net.Listener) context.Context { return ctx }
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(l) }()
		t.Cleanup(func() { cancel(); server.Close(); <-done })
		c, err := client.New(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		clients[l.Addr().Network()] = c
	}
	return clients
}

var decision = poise.Decision{
	Job: "id-1", Verdict: poise.FitsNotNow, Policy: "idle-balance", Ties: "name", Nodes: 1,
	Refused: []poise.ReasonCount{{Code: poise.IdleShort, Dim: "cpu", Nodes: 1}},
	Nearest: &poise.Miss{Node: "n1", Code: poise.IdleShort, Dim: "cpu", Ask: 500, Have: 100, Beyond: 400},
}

// Every endpoint, over both transports: what goes in comes out.
func TestTour(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			b := apitest.New()
			b.Decision = &decision
			b.Found = []client.Class{{ID: 1, Name: "cpu-general", Nodes: 1, Capacity: []client.ClassRange{{Resource: "cpu", Least: "4", Most: "8"}}}}
			b.Output = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("one\ntwo\n")), nil }
			c := daemons(t, b)[network]
			tourJobs(t, b, c)
			tourNodes(t, b, c)
			tourRest(t, b, c)
		})
	}
}

func check[T any](t *testing.T, got T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, expected %+v", got, want)
	}
}

func tourJobs(t *testing.T, b *apitest.Backend, c *client.Client) {
	ctx := t.Context()
	spec := client.JobSpec{
		Name: "train", Priority: -3, Request: map[string]client.Quantity{"cpu": "500m", "gpu": "0.5"},
		Devices: &client.DeviceSpec{Models: []string{"A100"}}, RunTime: "10m",
		Selectors:   []client.Selector{{Key: "zone", Op: "In", Values: []string{"a"}}},
		Tolerations: []client.Toleration{{Key: "gpu", Exists: true}},
		Command:     []string{"sh", "-c", "echo \"hi\""}, Env: map[string]string{"A": "ä\n"}, Dir: "/tmp",
	}
	jobs, err := c.Submit(ctx, []client.JobSpec{spec, {Name: "second", Request: map[string]client.Quantity{}}}, "")
	check(t, jobs, err)
	equal(t, len(jobs), 2)
	equal(t, jobs[0].Spec, spec)
	equal(t, jobs[0].State, client.Waiting)
	got, err := c.Job(ctx, "train")
	equal(t, check(t, got, err), jobs[0])
	page, err := c.Jobs(ctx, client.JobFilter{Name: "second", State: client.Waiting})
	equal(t, check(t, page, err), client.JobPage{Jobs: jobs[1:]})
	w, err := c.Why(ctx, "id-1")
	back, err2 := check(t, w, err).Decision.Poise()
	equal(t, check(t, back, err2), &decision)
	plan, err := c.Plan(ctx, spec)
	equal(t, check(t, plan, err).Job.Spec, spec)
	log, err := c.Logs(ctx, "train", client.LogOptions{Follow: true, Stream: "stdout", Since: time.Now(), Tail: 3})
	text, err2 := io.ReadAll(check(t, log, err))
	equal(t, string(check(t, text, err2)), "one\ntwo\n")
	check(t, 0, log.Close())
	gone, err := c.Cancel(ctx, "second")
	equal(t, check(t, gone, err).State, client.Withdrawn)
	b.End("train", client.Failed, 3)
	done, err := c.Wait(ctx, "train")
	equal(t, *check(t, done, err).ExitCode, int32(3))
}

func tourNodes(t *testing.T, b *apitest.Backend, c *client.Client) {
	ctx := t.Context()
	spec := client.NodeSpec{
		Name: "n1", Capacity: map[string]client.Quantity{"cpu": "4", "memory": "16Gi"}, Labels: map[string]string{"zone": "a"},
		Devices: &client.NodeDevices{Kind: "gpu", Model: "A100", Count: 2}, Taints: []client.Taint{{Key: "gpu", Effect: "NoSchedule"}},
	}
	n, err := c.JoinNode(ctx, spec)
	equal(t, check(t, n, err).Spec, spec)
	n, err = c.Node(ctx, "n1")
	equal(t, check(t, n, err).Version, uint64(1))
	spec.Labels = nil
	n, err = c.UpdateNode(ctx, "n1", spec, n.Version)
	equal(t, check(t, n, err).Spec, spec)
	_, err = c.UpdateNode(ctx, "n1", spec, 1)
	equal(t, poise.KindOf(err), poise.Conflict)
	n, err = c.DrainNode(ctx, "n1", true)
	equal(t, check(t, n, err).State, client.NodeDrained)
	n, err = c.DrainNode(ctx, "n1", false)
	equal(t, check(t, n, err).State, client.NodeReady)
	n, err = c.Heartbeat(ctx, "n1", n.Incarnation)
	equal(t, check(t, n, err).Heartbeat.IsZero(), false)
	_, err = c.Heartbeat(ctx, "n1", n.Incarnation+1)
	equal(t, poise.KindOf(err), poise.Conflict)
	page, err := c.Nodes(ctx, client.NodeFilter{State: client.NodeReady, Class: "cpu-general"})
	equal(t, check(t, page, err).Nodes, []client.Node{n})
	tasks, err := c.Assignments(ctx, "n1")
	equal(t, check(t, tasks, err).Assignments[0].Placement, "p-id-1")
	tasks, err = c.NextAssignments(ctx, "n1", tasks.Revision)
	equal(t, check(t, tasks, err).Revision, uint64(1))
	report := client.TaskReport{State: client.Failed, ExitCode: 143, Signal: "SIGTERM", Detail: "stopped", Ended: time.UnixMilli(5).UTC()}
	check(t, 0, c.Report(ctx, "p/1", report))
	equal(t, b.Reports()["p/1"], report)
	check(t, 0, c.LeaveNode(ctx, "n1"))
	equal(t, poise.KindOf(c.LeaveNode(ctx, "n1")), poise.NotFound)
}

func tourRest(t *testing.T, b *apitest.Backend, c *client.Client) {
	ctx := t.Context()
	k, err := c.JoinCluster(ctx, "lab", []client.NodeSpec{{Name: "a", Capacity: map[string]client.Quantity{"cpu": "1"}}, {Name: "b", Capacity: map[string]client.Quantity{"cpu": "1"}}}, "")
	equal(t, check(t, k, err), client.Cluster{Name: "lab", Nodes: 2, Ready: 2})
	k, err = c.JoinCluster(ctx, "file", nil, "/etc/nodes.yaml")
	equal(t, check(t, k, err).Follow, "/etc/nodes.yaml")
	spec := client.Kubernetes{Kubeconfig: "/etc/kube", Context: "prod", SchedulerName: "s", NodeSelector: "pool=poise"}
	k, err = c.JoinKubernetes(ctx, "prod", spec)
	equal(t, check(t, k, err).Kubernetes.Kubernetes, spec)
	clusters, err := c.Clusters(ctx)
	equal(t, check(t, clusters, err), []client.Cluster{{Name: "file", Follow: "/etc/nodes.yaml"}, {Name: "lab", Nodes: 2, Ready: 2}})
	check(t, 0, c.LeaveCluster(ctx, "lab"))
	classes, err := c.Classes(ctx)
	equal(t, check(t, classes, err), b.Found)
	classes, err = c.RebuildClasses(ctx)
	equal(t, check(t, classes, err), b.Found)
	record := client.DecisionRecord{Index: 7, At: time.UnixMilli(9).UTC(), Name: "train", Attempt: 1, Decision: *client.NewDecision(&decision)}
	b.Decided(record)
	made, err := c.Decisions(ctx, client.DecisionFilter{Job: "train", Verdict: "fits-not-now"})
	equal(t, check(t, made, err).Decisions, []client.DecisionRecord{record})
	health, err := c.Health(ctx)
	equal(t, check(t, health, err).Ready, true)
	var kinds []string
	enough := errors.New("enough")
	err = c.Events(ctx, 1, func(e client.Event) error {
		if kinds = append(kinds, e.Kind); e.Index == health.LastEvent {
			return enough
		}
		return nil
	})
	equal(t, err, enough)
	equal(t, kinds, []string{"job-submitted", "job-withdrawn", "job-finished", "node-joined", "node-joined", "node-joined", "model-built"})
}

// A name is a name, whatever it does to a path.
func TestNamesInPaths(t *testing.T) {
	b := apitest.New()
	c := daemons(t, b)["tcp"]
	f := func(name string) {
		t.Helper()
		jobs, err := c.Submit(t.Context(), []client.JobSpec{{Name: name, Request: map[string]client.Quantity{}}}, "")
		check(t, jobs, err)
		j, err := c.Job(t.Context(), name)
		equal(t, check(t, j, err).ID, jobs[0].ID)
		j, err = c.Cancel(t.Context(), name)
		equal(t, check(t, j, err).ID, jobs[0].ID)
	}
	f("a/b")
	f("..")
	f(".")
	f("%2F")
	f("a//b")
	f("ü?x#y")
	f("a;b=c")
	f(strings.Repeat("n", 253))
}

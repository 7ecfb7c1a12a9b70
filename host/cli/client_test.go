package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// far is a daemon that commands are run against.
type far struct {
	*apitest.Backend
	t *testing.T
}

// remoteDaemon serves a daemon on the socket of a data directory and lets the
// environment say so.
func remoteDaemon(t *testing.T) *far {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("POISE_DATA_DIR", dir)
	t.Setenv("POISE_SERVER", "")
	l, err := net.Listen("unix", filepath.Join(dir, "poise.sock"))
	if err != nil {
		t.Fatal(err)
	}
	b := apitest.New()
	limits := func() api.Limits { return api.Limits{MaxBody: 1 << 20, Rate: 1e6, Burst: 1e6} }
	server := api.Server(api.New(b, api.Options{Limits: limits, Log: slog.New(slog.DiscardHandler)}), api.Timeouts{Request: 20 * time.Second, Idle: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { cancel(); server.Close(); <-done })
	return &far{b, t}
}

// run runs a command line and checks the exit code.
func (d *far) run(code int, args ...string) (out, errs string) {
	d.t.Helper()
	var o, e bytes.Buffer
	if got := Run(args, Streams{Out: &o, Err: &e}); got != code {
		d.t.Fatalf("poise %s: exit code %d, expected %d\n%s%s", strings.Join(args, " "), got, code, &o, &e)
	}
	return o.String(), e.String()
}

// prints checks what a command line prints on either stream.
func (d *far) prints(want string, code int, args ...string) {
	d.t.Helper()
	out, errs := d.run(code, args...)
	if got := out + errs; got != want {
		d.t.Errorf("poise %s printed\n%s\nexpected\n%s", strings.Join(args, " "), got, want)
	}
}

const jobFile = `job: train
count: 2
priority: 5
request: {cpu: 500m, memory: 1Gi, gpu: 2}
devices: {models: [A100, H100]}
run_time: 10m
command: [python, train.py, 3]
env: {A: b}
---
job: other
request: {}
`

func TestJobCommands(t *testing.T) {
	d := remoteDaemon(t)
	file := put(t, "jobs.yaml", jobFile)
	d.prints("no jobs\n", 0, "job", "list")
	d.prints(`NAME     ID    STATE    NODE  PRIORITY  SUBMITTED             REASON
train-0  id-1  waiting  -     5         2026-01-02 03:04:05Z  -
train-1  id-2  waiting  -     5         2026-01-02 03:04:05Z  -
other    id-3  waiting  -     0         2026-01-02 03:04:05Z  -
`, 0, "job", "submit", file)
	d.prints(`name       train-0
id         id-1
tenant     default
state      waiting
priority   5
request    cpu 500m, gpu 2, memory 1Gi
run time   10m0s
command    python train.py 3
submitted  2026-01-02 03:04:05Z
`, 0, "job", "get", "train-0")
	d.prints(`id: id-2
name: train-1
tenant: default
state: waiting
spec:
  job: train-1
  priority: 5
  request:
    cpu: 500m
    gpu: "2"
    memory: 1Gi
  devices:
    kind: gpu
    models:
      - A100
      - H100
  run_time: 10m0s
  command:
    - python
    - train.py
    - "3"
  env:
    A: b
attempts: 0
submitted: "2026-01-02T03:04:05Z"
`, 0, "job", "get", "id-2", "-o", "yaml")
	d.prints("job other (id-3) is withdrawn\njob train-1 (id-2) is withdrawn\n", 0, "job", "cancel", "other", "id-2")
	out, _ := d.run(0, "job", "list", "--state", "withdrawn", "-o", "json", "--limit", "1")
	if strings.Count(out, `"id"`) != 1 || !strings.Contains(out, `"id-3"`) {
		t.Errorf("the newest withdrawn job: %s", out)
	}
	d.End("train-0", client.Failed, 3)
	d.prints("poise: job train-0 (id-1) failed on node n1 with exit code 3\n", 1, "job", "wait", "train-0")
	d.prints("job train-0 (id-1) failed on node n1 with exit code 3\njob other (id-3) was withdrawn\npoise: 2 of 2 jobs did not succeed\n", 1, "job", "wait", "train-0", "other")
	d.prints("poise: job \"nobody\": no such job\n", 3, "job", "get", "nobody")
	d.run(0, "job", "submit", "--", "sleep", "1")
	_, errs := d.run(5, "job", "wait", "--timeout", "10ms", "sleep")
	if !strings.Contains(errs, "it has not ended after 10ms") {
		t.Errorf("timeout: %s", errs)
	}
}

func TestJobFlags(t *testing.T) {
	d := remoteDaemon(t)
	d.run(0, "job", "submit", "--cpu", "500m", "--memory", "64Mi", "--gpu", "0.5", "--model", "A100,H100", "--request", "licence=1", "--priority", "-2",
		"--run-time", "10m", "--env", "A=b=c", "--dir", "/tmp", "--key", "k", "--", "/bin/echo", "--cpu", "")
	j, err := d.Job(t.Context(), "default", "echo")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v %+v", j.Spec, *j.Spec.Devices)
	j.Spec.Devices = nil
	want := client.JobSpec{
		Name: "echo", Priority: -2, Request: map[string]client.Quantity{"cpu": "500m", "memory": "64Mi", "gpu": "0.5", "licence": "1"},
		RunTime: "10m", Env: map[string]string{"A": "b=c"}, Dir: "/tmp", Command: []string{"/bin/echo", "--cpu", ""},
	}
	if fmt.Sprintf("%+v", j.Spec) != fmt.Sprintf("%+v", want) || !strings.Contains(got, "[A100 H100]") {
		t.Errorf("submitted %s, expected %+v", got, want)
	}
	d.run(1, "job", "submit", "--key", "k", "--", "other") // the key has other jobs
	f := func(want string, args ...string) {
		t.Helper()
		_, errs := d.run(2, append([]string{"job", "submit"}, args...)...)
		if !strings.HasPrefix(errs, "poise: "+want+"\n") {
			t.Errorf("%v: %s, expected %s", args, errs, want)
		}
	}
	f("no job given, expected a file, or flags and -- command")
	f(`"b": expected one file, or -- before a command`, "a", "b")
	f("--cpu beside a file, expected a file or flags and a command", "a", "--cpu", "1")
	f("true beside a file, expected a file or flags and a command", "a", "--", "true")
	f(`--request "x": expected NAME=AMOUNT`, "--request", "x", "--", "true")
	f(`--env "x": expected NAME=VALUE`, "--env", "x", "--", "true")
	f(`--output "xml": expected table, json or yaml`, "-o", "xml", "--", "true")
}

// All that is wrong with a job file is said, each with its line and path, and
// nothing is submitted.
func TestBadJobFile(t *testing.T) {
	d := remoteDaemon(t)
	file := put(t, "bad.yaml", "job: a\nrequest:\n  cpu: -1\n  memory: 1Q\nsubmit: 5m\n---\njob: b\nrequest: {}\ncommand: []\ndir: tmp\n---\njob: fine\nrequest: {}\n")
	_, errs := d.run(1, "job", "submit", file)
	for _, want := range []string{
		`:3: request.cpu: "-1" is negative: expected 0 or more`, `:4: request.memory: "1Q"`, `:5: submit: unknown field`,
		`:9: command: an empty list`, `:10: dir: "tmp": expected an absolute path`,
	} {
		if !strings.Contains(errs, file+want) {
			t.Errorf("%s is not said in\n%s", want, errs)
		}
	}
	d.prints("no jobs\n", 0, "job", "list")
	_, errs = d.run(1, "job", "submit", "--cpu", "x", "--memory", "-5", "--", "true")
	if strings.Count(errs, "jobs[0].request.") != 2 {
		t.Errorf("flags: %s", errs)
	}
}

func TestJobLogs(t *testing.T) {
	d := remoteDaemon(t)
	d.Output = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("one\ntwo\n")), nil }
	d.run(0, "job", "submit", "--", "true")
	d.prints("one\ntwo\n", 0, "job", "logs", "-f", "--since", "10m", "--tail", "3", "true")
	d.run(2, "job", "logs", "--since", "yesterday", "true")
	d.run(2, "job", "logs", "--stream", "both", "true")
	d.run(2, "job", "logs", "--tail", "-1", "true")
	d.run(3, "job", "logs", "nobody")
	d.Output = func() (io.ReadCloser, error) {
		return nil, &poise.Error{Kind: poise.Unavailable, Detail: "node n1 keeps its own logs"}
	}
	d.prints("poise: node n1 keeps its own logs\n", 5, "job", "logs", "true")
}

func TestWhyAndPlan(t *testing.T) {
	d := remoteDaemon(t)
	d.run(0, "job", "submit", "--name", "big", "--cpu", "8", "--", "true")
	d.prints("job big (id id-1) is waiting, and nothing was decided on it yet\n", 0, "job", "why", "big")
	d.Decision = &poise.Decision{
		Job: "id-1", Verdict: poise.FitsNotNow, Policy: "idle-balance", Ties: "name", Nodes: 1, Looked: 1,
		Refused: []poise.ReasonCount{{Code: poise.IdleShort, Dim: "cpu", Nodes: 1}},
		Nearest: &poise.Miss{Node: "n1", Code: poise.IdleShort, Dim: "cpu", Ask: 8000, Have: 500, Beyond: 7500},
	}
	want := `job big (id id-1) of tenant default, priority 0
  asks for   8 cpu

waits: it fits, but not now; the one node cannot hold it as things stand

refused nodes, by reason
  1  too little idle now: less than 8 cpu
nearest: node n1 has 500m of 8 cpu idle: 7.5 too little

decided by policy idle-balance, equal losses by the name;
snapshot 0, demand profile 0, 1 node looked at anew
`
	d.prints(want, 0, "job", "why", "big")
	d.prints(want+"\nexpected start: not known: fits, but not now\n", 0, "plan", "--name", "big", "--cpu", "8")
	out, _ := d.run(0, "plan", "-o", "json", put(t, "jobs.yaml", jobFile))
	if strings.Count(out, `"verdict": "fits-not-now"`) != 3 {
		t.Errorf("plan of three jobs: %s", out)
	}
	d.prints("NAME  ID    STATE    NODE  PRIORITY  SUBMITTED             REASON\nbig   id-1  waiting  -     0         2026-01-02 03:04:05Z  -\n", 0, "job", "list")
	d.End("big", client.Failed, 3)
	d.prints(want+"\nsince then the job failed on node n1 with exit code 3\n", 0, "job", "why", "big")
}

const nodeFile = `node: n
count: 2
capacity: {cpu: 4, memory: 16Gi}
devices: {kind: gpu, model: A100, count: 2}
labels: {zone: a}
taints: [{key: gpu, effect: NoSchedule}]
`

func TestNodeCommands(t *testing.T) {
	d := remoteDaemon(t)
	d.Found = []client.Class{{
		ID: 1, Name: "cpu-general", Nodes: 2, Build: 3, Ratio: 4, MedianCPU: "4", MedianMemory: "16Gi",
		Capacity: []client.ClassRange{{Resource: "cpu", Least: "4", Most: "8"}, {Resource: "memory", Least: "16Gi", Most: "16Gi"}},
		Devices:  []client.ClassDevice{{Kind: "gpu", Model: "A100", Least: 2, Most: 2}},
	}}
	file := put(t, "nodes.yaml", nodeFile)
	d.prints("no nodes\n", 0, "node", "list")
	d.prints("node n-0 joined, incarnation 1\nnode n-1 joined, incarnation 2\n", 0, "node", "join", file)
	d.prints("poise: join node \"n-0\": a node of that name is present\n", 1, "node", "join", file)
	d.prints("node n-1 is drained, with 0 tasks\n", 0, "node", "drain", "n-1")
	table := `NAME  STATE    CLUSTER  CLASS        TASKS  CPU  MEMORY  DEVICES
n-0   ready    -        cpu-general  0      0/4  0/16Gi  2/2 gpu A100
n-1   drained  -        cpu-general  0      0/4  0/16Gi  2/2 gpu A100
`
	d.prints(table, 0, "node", "list", "--limit", "0")
	d.prints("node n-1 is ready, with 0 tasks\n", 0, "node", "undrain", "n-1")
	d.prints(`name            n-0
state           ready
class           cpu-general
incarnation     1
version         1
capacity        cpu 4, memory 16Gi
idle            cpu 4, memory 16Gi
devices in use  2/2 gpu A100
tasks           0
labels          zone a
taints          gpu:NoSchedule
`, 0, "node", "get", "n-0")
	d.prints(`CLASS        NODES  CPU  MEMORY  GIB/CORE  DEVICES
cpu-general  2      4-8  16Gi    4         2 gpu A100
`, 0, "class", "rebuild")
	out, _ := d.run(0, "class", "show", "cpu-general")
	if !strings.Contains(out, "cpu            4-8\n") || !strings.Contains(out, "\nn-1   ready") {
		t.Errorf("class show: %s", out)
	}
	d.prints("poise: class \"x\": no such class, expected one of cpu-general\n", 3, "class", "show", "x")
	d.prints("node n-0 left\npoise: node \"x\": no such node\n", 3, "node", "leave", "n-0", "x")
}

func TestClusterCommands(t *testing.T) {
	d := remoteDaemon(t)
	file := put(t, "nodes.yaml", nodeFile)
	d.prints("cluster lab joined: 2 nodes, 2 ready\n", 0, "cluster", "join", "lab", file)
	d.run(0, "cluster", "join", "far", "--follow", "/etc/nodes.yaml")
	d.prints("NAME  NODES  READY  FOLLOWS\nfar   0      0      /etc/nodes.yaml\nlab   2      2      -\n", 0, "cluster", "list")
	d.prints("cluster lab left\n", 0, "cluster", "leave", "lab")
	d.run(3, "cluster", "leave", "lab")
	d.run(2, "cluster", "join", "lab")
	d.run(3, "cluster", "join", "lab", file+"x")
}

func TestDecisionAndEventCommands(t *testing.T) {
	d := remoteDaemon(t)
	d.prints("no decisions\n", 0, "decision", "list")
	for i := range 3 {
		d.Decided(client.DecisionRecord{
			Index: uint64(i + 1), At: time.UnixMilli(0), Name: "j", Attempt: 1,
			Decision: client.Decision{Verdict: "placed", Node: fmt.Sprint("n", i), Devices: []uint16{0, 1}, Nodes: 4, Fitting: 2, Policy: "idle-balance"},
		})
	}
	d.prints(`INDEX  AT                    JOB  ATTEMPT  VERDICT  NODE  DEVICES  FITTING  POLICY        FAULT
3      1970-01-01 00:00:00Z  j    1        placed   n2    0,1      2/4      idle-balance  -
2      1970-01-01 00:00:00Z  j    1        placed   n1    0,1      2/4      idle-balance  -
`, 0, "decision", "list", "--limit", "2")
	d.run(0, "job", "submit", "--", "true")
	d.run(0, "job", "cancel", "true")
	var out bytes.Buffer
	e := client.Event{Index: 1, At: time.UnixMilli(0).UTC(), Kind: "job-placed", Job: "j", Node: "n\x1b[31m", Body: []byte(`{"A":1}`)}
	for _, o := range []output{"table", "json", "yaml"} {
		if err := printEvent(&out, o, &e); err != nil {
			t.Fatal(err)
		}
	}
	want := `1  1970-01-01 00:00:00Z  job-placed  job j  node "n\x1b[31m"
{"index":1,"at":"1970-01-01T00:00:00Z","kind":"job-placed","job":"j","node":"n\u001b[31m","body":{"A":1}}
---
index: 1
at: "1970-01-01T00:00:00Z"
kind: job-placed
job: j
node: "n\e[31m"
body:
  A: 1
`
	if out.String() != want {
		t.Errorf("printed\n%s\nexpected\n%s", &out, want)
	}
	d.Fault = &poise.Error{Kind: poise.Denied, Detail: "not yours"}
	d.prints("poise: not yours\n", 4, "event", "watch", "--after", "0")
}

// Names come from the daemon; where there is none, there are no names and no
// noise.
func TestCompletion(t *testing.T) {
	d := remoteDaemon(t)
	f := func(want string, args ...string) {
		t.Helper()
		out, _ := d.run(0, append([]string{"__complete"}, args...)...)
		if got := out[:strings.LastIndex(out, ":")]; got != want {
			t.Errorf("%v: %q, expected %q", args, got, want)
		}
	}
	for _, name := range []string{"b", "a", "a"} {
		d.run(0, "job", "submit", "--name", name, "--", "true")
	}
	d.run(0, "cluster", "join", "lab", put(t, "nodes.yaml", nodeFile))
	d.Found = []client.Class{{Name: "cpu-general"}}
	f("a\nb\n", "job", "get", "")
	f("b\n", "job", "cancel", "a", "")
	f("", "job", "get", "a", "")
	f("n-0\nn-1\n", "node", "drain", "")
	f("lab\n", "cluster", "leave", "")
	f("cpu-general\n", "class", "show", "")
	f("table\njson\nyaml\n", "job", "list", "-o", "")
	t.Setenv("POISE_DATA_DIR", t.TempDir())
	f("", "job", "get", "")
}

// Where the daemon is: the flag before the environment, an address before a
// directory.
func TestWhereTheDaemonIs(t *testing.T) {
	d := remoteDaemon(t)
	empty := t.TempDir()
	gone := "poise: daemon is not reachable at " + filepath.Join(empty, "poise.sock") + ": start it with poise serve\n"
	d.prints(gone, 5, "job", "list", "--data-dir", empty)
	d.prints("poise: daemon is not reachable at 127.0.0.1:1: start it with poise serve\n", 5, "class", "list", "--server", "127.0.0.1:1")
	t.Setenv("POISE_SERVER", "127.0.0.1:1")
	d.run(5, "job", "list")
	d.prints(gone, 5, "plan", "--cpu", "1", "--data-dir", empty)
	t.Setenv("POISE_SERVER", "")
	d.run(0, "job", "list")
	_, errs := d.run(2, "job", "list", "--server", "::x")
	if !strings.Contains(errs, "expected host:port, an http URL or the path of a socket") {
		t.Errorf("server: %s", errs)
	}
	f := func(want, dataDir string, environ ...string) {
		t.Helper()
		got, err := socketIn(dataDir, environ)
		if err != nil || got != want {
			t.Errorf("%q, %v: %q, %v, expected %q", dataDir, environ, got, err, want)
		}
	}
	f("/d/poise.sock", "/d", "POISE_DATA_DIR=/e", "POISE_API_SOCKET=/f")
	f("/e/poise.sock", "", "POISE_DATA_DIR=/e")
	f("/f", "", "POISE_DATA_DIR=/e", "POISE_API_SOCKET=/f", "POISE_API_RATE=nonsense")
	f("/var/lib/poise/poise.sock", "")
}

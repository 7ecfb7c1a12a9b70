//go:build linux

package daemon

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// task is what a client of TestKill9 knows of what it submitted. Its name is its key.
type task struct {
	name string
	kind
	after string   // id of the job that it comes after
	ids   []string // of its jobs, once the daemon has said so
	said  int      // of the calls that follow, those that were answered
	tried bool     // the next one was made before, and perhaps in vain
}

// kind is what tasks have in common.
type kind struct {
	title  string
	jobs   int
	script string // after it has left its mark
	spec   func(j *client.JobSpec)
	calls  []func(ctx context.Context, w *client.Client, id string) error
	state  client.JobState // in the end
	runs   int             // of each job, more where it was displaced
	detail string          // in the end, "" = any
}

func (k *task) done() bool { return k.ids != nil && k.said == len(k.calls) }

func cancelJob(ctx context.Context, w *client.Client, id string) error {
	_, err := w.Cancel(ctx, id)
	return err
}

func releaseJob(ctx context.Context, w *client.Client, id string) error {
	_, err := w.Release(ctx, id)
	return err
}

func hurryJob(ctx context.Context, w *client.Client, id string) error {
	_, err := w.SetPriority(ctx, id, 3)
	return err
}

// kinds are what clients submit.
var kinds = []kind{
	{title: "plain", jobs: 1, state: client.Succeeded, runs: 1},
	{title: "plain", jobs: 1, state: client.Succeeded, runs: 1},
	{title: "long", jobs: 1, script: "exec sleep 600", calls: []func(context.Context, *client.Client, string) error{cancelJob}, detail: cancelled, runs: 1},
	{title: "gang", jobs: 3, state: client.Succeeded, runs: 1},
	{title: "array", jobs: 3, state: client.Succeeded, runs: 1, spec: func(j *client.JobSpec) { j.Array = &client.ArraySpec{Count: 3, Parallel: 2} }},
	{title: "held", jobs: 1, state: client.Succeeded, runs: 1, spec: func(j *client.JobSpec) { j.Hold = true }, calls: []func(context.Context, *client.Client, string) error{hurryJob, releaseJob}},
	{title: "retried", jobs: 1, script: "[ -e $0.failed ] || { touch $0.failed; exit 3; }", state: client.Succeeded, runs: 2, spec: func(j *client.JobSpec) {
		j.Retry = &client.RetrySpec{Limit: 1, Backoff: "20ms", MaxBackoff: "20ms"}
	}},
	{title: "late", jobs: 1, state: client.Withdrawn, spec: func(j *client.JobSpec) { j.Hold, j.StartBy = true, "50ms" }},
	{title: "early", jobs: 1, state: client.Succeeded, runs: 1, spec: func(j *client.JobSpec) { j.FinishBy, j.RunTime = "1h", "10m" }},
	{title: "hurried", jobs: 1, state: client.Succeeded, runs: 1, calls: []func(context.Context, *client.Client, string) error{hurryJob}},
	{title: "after", jobs: 1, state: client.Succeeded, runs: 1},
	{title: "after_failure", jobs: 1, state: client.Succeeded, runs: 1},
}

// wholes ask for a whole node: the first makes others end, and the second has to.
var wholes = []kind{
	{title: "whole", jobs: 1, state: client.Succeeded, runs: 1, spec: func(j *client.JobSpec) { j.Priority = 5 }},
	{title: "whole", jobs: 1, script: "exec sleep 0.2", state: client.Succeeded, runs: 1, spec: func(j *client.JobSpec) { j.Priority = -1 }},
}

// crowd are clients that submit and say more about it, and go on after a kill where
// they were.
type crowd struct {
	runs       string // folder of the files that tasks write to
	displacing bool
	mu         sync.Mutex
	cpu        client.Quantity // of the node
	all        []*task
}

// specs append a line to a file of each job's own, so that a second run shows.
func (c *crowd) specs(k *task) []client.JobSpec {
	one := sh(k.name, fmt.Sprintf("echo $POISE_PLACEMENT >>%s/$POISE_JOB_ID; %s", c.runs, k.script))
	one.Command = append(one.Command, filepath.Join(c.runs, k.name)) // $0
	if k.spec != nil {
		k.spec(&one)
	}
	switch k.title {
	case "whole":
		one.Request = map[string]client.Quantity{"cpu": c.cpu}
	case "after":
		one.After = []string{k.after}
	case "after_failure":
		one.AfterFailure = []string{k.after}
	case "gang":
		var members []client.JobSpec
		for i := range int32(k.jobs) {
			member := one
			member.Name = fmt.Sprintf("%s-%d", k.name, i)
			member.Gang = &client.GangSpec{ID: k.name, Size: int32(k.jobs), Index: i}
			members = append(members, member)
		}
		return members
	}
	return []client.JobSpec{one}
}

// step does the next thing about a task.
func (c *crowd) step(ctx context.Context, w *client.Client, k *task) error {
	if k.ids == nil {
		jobs, err := w.Submit(ctx, c.specs(k), k.name)
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range jobs {
			k.ids = append(k.ids, jobs[i].ID)
		}
		if poise.KindOf(err) == poise.Conflict && strings.Contains(err.Error(), "has just ended, expected this to be submitted again") {
			return nil // as it says: its end is not on disk yet
		}
		return err
	}
	err := k.calls[k.said](ctx, w, k.ids[0])
	if poise.KindOf(err) == poise.Conflict && (k.tried || k.title == "hurried") {
		err = nil // it was done before the daemon was killed, or the job has ended
	}
	if k.tried = err != nil; err == nil {
		k.said++
	}
	return err
}

// draw makes a new task. One that comes after another comes after one that succeeds, or
// is cancelled.
func (c *crowd) draw(r *rand.Rand, name string) *task {
	from := kinds
	if c.displacing {
		from = slices.Concat(kinds, wholes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &task{name: name, kind: from[r.Intn(len(from))]}
	if before := map[string]string{"after": "early", "after_failure": "long"}[k.title]; before != "" {
		known := slices.DeleteFunc(slices.Clone(c.all), func(o *task) bool { return o.title != before || o.ids == nil })
		if len(known) == 0 {
			k.kind = kinds[0]
		} else {
			k.after = known[r.Intn(len(known))].ids[0]
		}
	}
	c.all = append(c.all, k)
	return k
}

// press has a client take up its old tasks and make new ones until the daemon is
// gone.
func (c *crowd) press(t *testing.T, ctx context.Context, socket string, mine []*task, r *rand.Rand, round, who int) {
	w, err := client.New(socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	gone := func(what string, err error) bool {
		if err != nil && poise.KindOf(err) != poise.Unavailable {
			t.Errorf("%s: %v, expected nothing but that the daemon is gone", what, err)
		}
		return err != nil
	}
	page, err := w.Nodes(ctx, client.NodeFilter{})
	if gone("nodes", err) {
		return
	}
	c.mu.Lock()
	c.cpu = page.Nodes[0].Spec.Capacity["cpu"]
	c.mu.Unlock()
	for i := 0; i < 6; i++ {
		mine = append(mine, c.draw(r, fmt.Sprintf("r%d-%d-%d", round, who, i)))
	}
	for _, k := range mine {
		for !k.done() {
			if gone(k.name+" "+k.title, c.step(ctx, w, k)) {
				return
			}
		}
	}
}

// check lets everything end under the last daemon and looks at what has become
// of it.
func (c *crowd) check(t *testing.T, p *process, socket string) {
	t.Helper()
	defer p.end(t)
	<-p.ready
	one, err := client.New(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	w := &world{Client: one, t: t}
	acknowledged, ran, again, jobs := 0, 0, 0, 0
	for _, k := range c.all {
		if k.ids != nil {
			acknowledged++
		}
		for !k.done() {
			if err := c.step(t.Context(), one, k); err != nil {
				t.Fatalf("%s %s: %v", k.name, k.title, err)
			}
		}
	}
	for _, k := range c.all {
		if len(k.ids) != k.jobs {
			t.Errorf("%s %s: %d jobs, expected %d", k.name, k.title, len(k.ids), k.jobs)
		}
		jobs += len(k.ids)
		for _, id := range k.ids {
			runs := c.ended(w, k, id)
			ran += runs
			again += max(0, runs-k.runs)
		}
	}
	page, err := one.Jobs(t.Context(), client.JobFilter{Limit: client.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	if page.Next == "" && len(page.Jobs) != jobs {
		t.Errorf("%d jobs, expected %d", len(page.Jobs), jobs)
	}
	w.checkSums()
	t.Logf("%d jobs in %d submissions, %d acknowledged before the last kill, %d runs, %d of them of jobs that were displaced", jobs, len(c.all), acknowledged, ran, again)
}

// ended waits for the end of a job, and gives how often it ran: each time as a
// placement of its own.
func (c *crowd) ended(w *world, k *task, id string) int {
	w.t.Helper()
	name := k.name + " " + k.title
	eventually(w.t, name+" ended", func() bool { return w.job(id).State.Ended() })
	j := w.job(id)
	if by := w.job(j.Name); by.ID != id {
		w.t.Errorf("%s: %s and %s, expected one job", name, by.ID, id)
	}
	text, err := os.ReadFile(filepath.Join(c.runs, id))
	runs := strings.Fields(string(text))
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(runs)))); distinct != len(runs) || len(runs) > k.runs && !c.displacing {
		w.t.Errorf("%s ran %d times:\n%s", name, len(runs), text)
	}
	if k.detail != "" && (j.State == client.Succeeded || j.Detail != k.detail) || k.detail == "" && (j.State != k.state || len(runs) < k.runs) {
		w.t.Errorf("%s: %s (%s), ran %d times (%v), expected %s%s and %d", name, j.State, j.Detail, len(runs), err, k.state, k.detail, k.runs)
	}
	return len(runs)
}

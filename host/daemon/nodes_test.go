package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

func TestDrain(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 2, "2"))
	runs := w.until(w.submit(job("a", "1"))[0].ID, client.Running)
	n, err := w.DrainNode(t.Context(), runs.Node, true)
	if err != nil || n.State != client.NodeDrained || n.Tasks != 1 {
		t.Errorf("%+v, %v, expected it drained and its task to run on", n, err)
	}
	for range 2 {
		if b := w.until(w.submit(job("b", "1"))[0].ID, client.Running); b.Node == runs.Node {
			t.Errorf("placed on the drained node %s", b.Node)
		}
	}
	waits := w.submit(job("c", "1"))[0].ID
	eventually(t, "a reason to wait", func() bool { return strings.HasPrefix(w.job(waits).Reason, poise.FitsNotNow.String()) })
	if why, err := w.Why(t.Context(), waits); err != nil || why.Decision == nil || len(why.Decision.Refused) == 0 || why.Attempt == 0 {
		t.Errorf("%+v, %v, expected why it waits", why, err)
	}
	if n, err = w.DrainNode(t.Context(), runs.Node, false); err != nil || n.State != client.NodeReady {
		t.Errorf("%+v, %v, expected it ready", n, err)
	}
	w.until(waits, client.Running)
	w.checkSums()
	_, err = w.DrainNode(t.Context(), "none", true)
	refused(t, err, poise.NotFound, `node "none"`)
}

// The tasks of a node that leaves go with it; their jobs run once more
// elsewhere, or wait.
func TestNodeLeaves(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	w.join("c", nodes("n", 1, "2"))
	before := w.node("n0")
	a := w.until(w.submit(job("a", "1"))[0].ID, client.Running)
	if err := w.LeaveNode(t.Context(), "n0"); err != nil {
		t.Fatal(err)
	}
	_, err := w.Node(t.Context(), "n0")
	refused(t, err, poise.NotFound, "no such node")
	if j := w.job(a.ID); j.State != client.Waiting || j.Node != "" || j.Placement != "" || j.Reason == "" {
		t.Errorf("%+v, expected it to wait again, with a reason", j)
	}
	refused(t, w.LeaveNode(t.Context(), "n0"), poise.NotFound, `node "n0"`)
	w.join("c", nodes("n", 1, "2"))
	again := w.until(a.ID, client.Running)
	if again.Placement == a.Placement {
		t.Errorf("placement %s again, expected a new one", a.Placement)
	}
	if n := w.node("n0"); n.Incarnation == before.Incarnation || n.Tasks != 1 {
		t.Errorf("%+v, expected another incarnation than %d and one task", n, before.Incarnation)
	}
	w.checkSums()
	w = w.again(nil)
	if j := w.until(a.ID, client.Running); j.Placement != again.Placement {
		t.Errorf("placement %s after a restart, expected %s", j.Placement, again.Placement)
	}
	w.checkSums()
}

// The daemon's own machine is there as long as the daemon is, and alone in its
// cluster.
func TestOwnNode(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "fleet.yaml")
	write(t, file, "node: n\ncapacity: {cpu: 1}\ncount: 2\n")
	w := serve(t, dir, settings{"cluster.inventory": file})
	w.until(w.submit(sh("a", "exit 0"))[0].ID, client.Running)
	local := settings{"engine.kind": "local"}
	w = w.again(local)
	page, err := w.Nodes(t.Context(), client.NodeFilter{})
	if err != nil || len(page.Nodes) != 1 {
		t.Fatalf("%+v, %v, expected this machine in place of the nodes that were simulated", page.Nodes, err)
	}
	w.until("a", client.Succeeded)
	name := page.Nodes[0].Name
	refused(t, w.LeaveNode(t.Context(), name), poise.Conflict, "it is this machine, which is there as long as the daemon runs, expected another node; to keep new jobs off it: poise node drain "+name)
	refused(t, w.LeaveCluster(t.Context(), "local"), poise.Conflict, "it is this machine")
	if _, err := w.DrainNode(t.Context(), name, true); err != nil {
		t.Fatal(err)
	}
	if w = w.again(local); w.node(name).State != client.NodeDrained {
		t.Errorf("%+v, expected that it stays drained", w.node(name))
	}
	w.checkSums()
}

func TestCapacityShrinks(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 1, "4"))
	for i := range 4 {
		w.until(w.submit(job(fmt.Sprint("a", i), "1"))[0].ID, client.Running)
	}
	n := w.node("n0")
	small := nodes("n", 1, "2")[0]
	_, err := w.UpdateNode(t.Context(), "n0", small, n.Version-1)
	refused(t, err, poise.Conflict, "it has changed since it was read")
	n, err = w.UpdateNode(t.Context(), "n0", small, n.Version)
	if err != nil || n.Tasks != 4 || n.Idle["cpu"] != "-2" {
		t.Errorf("%+v, %v, expected four tasks and -2 idle", n, err)
	}
	waits := w.submit(job("b", "1"))[0].ID
	for i := range 3 {
		if _, err := w.Cancel(t.Context(), fmt.Sprint("a", i)); err != nil {
			t.Fatal(err)
		}
		w.until(fmt.Sprint("a", i), client.Failed)
		if i == 1 && w.job(waits).State != client.Waiting {
			t.Error("placed on a node without room")
		}
	}
	w.until(waits, client.Running)
	w.checkSums()
}

// rewrite changes a file so that it differs whatever the clock of the file system
// is.
func rewrite(t *testing.T, file, text string) {
	t.Helper()
	write(t, file, text)
	at := time.Now().Add(time.Duration(len(text)) * time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	file := filepath.Join(dir, "fleet.yaml")
	write(t, file, "node: a\ncapacity: {cpu: 1}\n---\nnode: b\ncapacity: {cpu: 1}\n")
	c, err := w.JoinCluster(t.Context(), "fleet", nil, file)
	if err != nil || c.Nodes != 2 || c.Ready != 2 || c.Follow != file {
		t.Fatalf("%+v, %v", c, err)
	}
	j := w.until(w.submit(job("j", "1"))[0].ID, client.Running)
	rewrite(t, file, "node: a\ncapacity: {cpu: nonsense}\n")
	stays := "b"
	if j.Node == "b" {
		stays = "a"
	}
	rewrite(t, file, "node: "+stays+"\ncapacity: {cpu: 1}\n---\nnode: c\ncapacity: {cpu: 1}\n")
	eventually(t, "c in place of the job's node", func() bool {
		_, c := w.Node(t.Context(), "c")
		_, left := w.Node(t.Context(), j.Node)
		return c == nil && left != nil
	})
	eventually(t, "j on another node", func() bool {
		again := w.job("j")
		return again.State == client.Running && again.Node != j.Node
	})
	_, err = w.JoinCluster(t.Context(), "other", []client.NodeSpec{nodes("x", 1, "1")[0], {Name: "c", Capacity: map[string]client.Quantity{"cpu": "1"}}}, "")
	refused(t, err, poise.Conflict, `one of that name is in cluster "fleet"`)
	_, err = w.Node(t.Context(), "x0")
	refused(t, err, poise.NotFound, "no such node")
	if err := w.LeaveCluster(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Clusters(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v, expected no cluster", all, err)
	}
	refused(t, w.LeaveCluster(t.Context(), "fleet"), poise.NotFound, `cluster "fleet"`)
	eventually(t, "j to wait", func() bool { return w.job("j").State == client.Waiting })
	w.checkSums()
}

// A cluster follows its file after a restart, until a list or its leave ends
// that; no restart brings it back then.
func TestFollowRestart(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	file := filepath.Join(dir, "fleet.yaml")
	fleet := func(names ...string) {
		t.Helper()
		var text strings.Builder
		for _, name := range names {
			fmt.Fprintf(&text, "---\nnode: %s\ncapacity: {cpu: 1}\n", name)
		}
		rewrite(t, file, text.String())
	}
	has := func(follow string, names ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%q, following %q", names, follow), func() bool {
			page, err := w.Nodes(t.Context(), client.NodeFilter{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range page.Nodes {
				got = append(got, n.Name)
			}
			all, err := w.Clusters(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(names) == 0 {
				return len(got) == 0 && len(all) == 0
			}
			return slices.Equal(got, names) && len(all) == 1 && all[0].Follow == follow
		})
	}
	follow := func() {
		t.Helper()
		if _, err := w.JoinCluster(t.Context(), "fleet", nil, file); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.JoinCluster(t.Context(), "fleet", nil, "fleet.yaml")
	refused(t, err, poise.Invalid, `follow: "fleet.yaml", expected the absolute path`)

	fleet("a")
	follow()
	has(file, "a")
	w.stop()
	fleet("a", "b")
	w = w.again(nil)
	has(file, "a", "b")
	fleet("a", "b", "c")
	has(file, "a", "b", "c")

	// Without its file a cluster stays as it is.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w = w.again(nil)
	has(file, "a", "b", "c")
	fleet("d")
	has(file, "d")

	w.join("fleet", nodes("x", 1, "1"))
	has("", "x0")
	w = w.again(nil)
	has("", "x0")
	follow()
	has(file, "d")
	if err := w.LeaveCluster(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	w = w.again(nil)
	has("")
}

// joinExternal joins a node that an executor of its own stands for.
func joinExternal(w *world, name, cpu string) client.Node {
	w.t.Helper()
	n, err := w.JoinNode(w.t.Context(), client.NodeSpec{Name: name, Capacity: map[string]client.Quantity{"cpu": client.Quantity(cpu)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// assignment waits for the one task that a node's executor is to run.
func assignment(w *world, node string) client.Assignment {
	w.t.Helper()
	var all []client.Assignment
	eventually(w.t, "an assignment to "+node, func() bool {
		list, err := w.Assignments(w.t.Context(), node)
		if err != nil {
			w.t.Fatal(err)
		}
		all = list.Assignments
		return len(all) > 0
	})
	if len(all) != 1 {
		w.t.Fatalf("%+v, expected one", all)
	}
	return all[0]
}

func TestExecutor(t *testing.T) {
	dir := folder(t)
	w := serve(t, dir, nil)
	n := joinExternal(w, "e", "2")
	if n.Spec.Cluster != externalCluster || n.Heartbeat.IsZero() {
		t.Errorf("%+v, expected it in the cluster of the external nodes", n)
	}
	if got, err := w.Heartbeat(t.Context(), "e", n.Incarnation); err != nil || got.Heartbeat.Before(n.Heartbeat) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := w.Heartbeat(t.Context(), "e", n.Incarnation+1)
	refused(t, err, poise.Conflict, "it has joined anew")

	id := w.submit(job("a", "1", "run", "it"))[0].ID
	a := assignment(w, "e")
	if a.Job != id || a.State != client.Starting || len(a.Command) != 2 || a.Request["cpu"] != "1" || a.Stop {
		t.Errorf("%+v", a)
	}
	report := func(r client.TaskReport) {
		t.Helper()
		if err := w.Report(t.Context(), a.Placement, r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		report(client.TaskReport{State: client.Running})
		w.until(id, client.Running)
	}

	// A restart neither forgets the task nor runs it again. The list is whole from
	// the first answer on: what is not there is over.
	again := func() client.Assignment {
		t.Helper()
		w = w.again(nil)
		list, err := w.Assignments(t.Context(), "e")
		if err != nil || len(list.Assignments) != 1 || list.Assignments[0].Placement != a.Placement {
			t.Fatalf("%+v, %v, expected %s as before", list, err, a.Placement)
		}
		return list.Assignments[0]
	}
	again()
	report(client.TaskReport{State: client.Running})
	if _, err := w.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if b := assignment(w, "e"); !b.Stop {
		t.Errorf("%+v, expected that it is to end", b)
	}
	again()
	eventually(t, "that it is to end", func() bool { return assignment(w, "e").Stop })
	if j := w.job(id); j.State.Ended() {
		t.Errorf("%+v, expected that it waits for what the executor says", j)
	}
	report(client.TaskReport{State: client.Failed, ExitCode: 143, Signal: "SIGTERM"})
	if j := w.until(id, client.Failed); j.Detail != cancelled || *j.ExitCode != 143 {
		t.Errorf("%+v", j)
	}
	eventually(t, "the task to be forgotten", func() bool {
		err := w.Report(t.Context(), a.Placement, client.TaskReport{State: client.Failed, ExitCode: 143})
		return poise.KindOf(err) == poise.NotFound
	})
	w.checkSums()
}

// Whoever asks for the next list hears of each change, and of nothing else.
func TestExecutorWatches(t *testing.T) {
	w := serve(t, folder(t), nil)
	for _, name := range []string{"e", "other"} {
		spec := client.NodeSpec{Name: name, Capacity: map[string]client.Quantity{"cpu": "2"}, Labels: map[string]string{"rack": name}}
		if _, err := w.JoinNode(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	list, err := w.Assignments(t.Context(), "e")
	if err != nil || len(list.Assignments) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	next := func(change func()) client.Assignment {
		t.Helper()
		heard := make(chan client.Assignments, 1)
		go func() {
			defer close(heard)
			l, err := w.NextAssignments(t.Context(), "e", list.Revision)
			if err != nil {
				t.Error(err)
			}
			heard <- l
		}()
		change()
		was := list.Revision
		if list = <-heard; list.Revision == was || len(list.Assignments) != 1 {
			t.Fatalf("%+v, expected another list than %d, of one task", list, was)
		}
		return list.Assignments[0]
	}
	on := func(node, name string) client.JobSpec {
		j := job(name, "1")
		j.Selectors = []client.Selector{{Key: "rack", Op: "In", Values: []string{node}}}
		return j
	}
	report := func(r client.TaskReport) {
		t.Helper()
		if err := w.Report(t.Context(), list.Assignments[0].Placement, r); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	a := next(func() {
		w.submit(on("other", "theirs"))
		id = w.submit(on("e", "ours"))[0].ID
	})
	if a.Acknowledged || a.Job != id {
		t.Errorf("%+v, expected the task of %s", a, id)
	}
	if a = next(func() { report(client.TaskReport{State: client.Starting}) }); !a.Acknowledged || a.State != client.Starting {
		t.Errorf("%+v, expected it acknowledged", a)
	}
	if j := w.job(id); j.State != client.Starting {
		t.Errorf("%+v, expected that it does not run yet", j)
	}
	report(client.TaskReport{State: client.Starting})
	if again, err := w.Assignments(t.Context(), "e"); err != nil || again.Revision != list.Revision {
		t.Errorf("%+v, %v, expected %d as before", again, err, list.Revision)
	}
	if a = next(func() {
		if _, err := w.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}); !a.Stop {
		t.Errorf("%+v, expected that it is to end", a)
	}
	_, err = w.NextAssignments(t.Context(), "nobody", 0)
	refused(t, err, poise.NotFound, `node "nobody"`)

	// A stop of the daemon lets go of who watches.
	left := make(chan error, 1)
	go func() {
		_, err := w.NextAssignments(context.Background(), "e", list.Revision)
		left <- err
	}()
	w.stop()
	if err := <-left; poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v, expected that the daemon is gone", err)
	}
}

// An external node that leaves with a task and comes back is told to end it.
func TestExecutorLeaves(t *testing.T) {
	w := serve(t, folder(t), nil)
	first := joinExternal(w, "e", "2")
	id := w.submit(job("a", "2"))[0].ID
	a := assignment(w, "e")
	if err := w.Report(t.Context(), a.Placement, client.TaskReport{State: client.Running}); err != nil {
		t.Fatal(err)
	}
	w.until(id, client.Running)
	if err := w.LeaveNode(t.Context(), "e"); err != nil {
		t.Fatal(err)
	}
	if j := w.job(id); j.State != client.Waiting {
		t.Errorf("%+v, expected it to wait", j)
	}
	if n := joinExternal(w, "e", "2"); n.Incarnation == first.Incarnation {
		t.Errorf("incarnation %d again", n.Incarnation)
	}
	_, err := w.Heartbeat(t.Context(), "e", first.Incarnation)
	refused(t, err, poise.Conflict, "it has joined anew")
	var all []client.Assignment
	eventually(t, "the old task told to end, and a new one", func() bool {
		list, err := w.Assignments(t.Context(), "e")
		all = list.Assignments
		return err == nil && len(all) == 2
	})
	for _, b := range all {
		if b.Stop != (b.Placement == a.Placement) {
			t.Errorf("%+v, expected that the task of before is to end", b)
		}
	}
	if err := w.Report(t.Context(), a.Placement, client.TaskReport{State: client.Failed, ExitCode: 137}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only the new one", func() bool {
		list, err := w.Assignments(t.Context(), "e")
		all = list.Assignments
		return err == nil && len(all) == 1 && !all[0].Stop
	})
	if j := w.job(id); j.State.Ended() {
		t.Errorf("%+v, expected that the end of the old task is not its end", j)
	}
	w.checkSums()
}

// A silent node gets no more jobs, its tasks stay, and one call is enough.
func TestSilence(t *testing.T) {
	d := open(t, folder(t), nil)
	ctx := t.Context()
	n, err := d.JoinNode(ctx, client.NodeSpec{Name: "e", Capacity: map[string]client.Quantity{"cpu": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	state := func(want string) {
		t.Helper()
		eventually(t, "node "+want, func() bool {
			got, err := d.Node(ctx, "e")
			return err == nil && got.State == want
		})
	}
	d.follows.mu.Lock()
	d.follows.heard["e"] = time.Now().Add(-2 * silent)
	d.follows.mu.Unlock()
	state(client.NodeNotReady)
	jobs, err := d.Submit(ctx, "t", []client.JobSpec{job("a", "1")}, "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a reason to wait", func() bool {
		why, err := d.Why(ctx, "t", jobs[0].ID)
		return err == nil && why.Decision != nil && len(why.Decision.Refused) == 1 && why.Decision.Refused[0].Code == "node-not-ready"
	})
	if got, err := d.Heartbeat(ctx, "e", n.Incarnation); err != nil || got.State != client.NodeReady {
		t.Errorf("%+v, %v, expected it ready", got, err)
	}
	eventually(t, "the job placed", func() bool {
		list, err := d.Assignments(ctx, "e", 0, 0)
		return err == nil && len(list.Assignments) == 1
	})
	state(client.NodeReady)
}

// A node keeps its own labels beside those of the classes, also one that joins, or
// describes itself anew, when there are classes already (found with a cluster's
// nodes that joined second: their labels were gone).
func TestOwnLabels(t *testing.T) {
	w := serve(t, folder(t), settings{})
	w.join("a", nodes("a", 3, "8"))
	for range 2 {
		n := nodes("b", 1, "8")
		n[0].Labels = map[string]string{"zone": "east", "poise.dev/class": "mine"}
		w.join("b", n)
		got, err := w.Node(t.Context(), "b0")
		if err != nil || got.Spec.Labels["zone"] != "east" || got.Spec.Labels["poise.dev/class"] != got.Class || got.Class == "mine" {
			t.Errorf("labels %v, class %s, error %v", got.Spec.Labels, got.Class, err)
		}
	}
}

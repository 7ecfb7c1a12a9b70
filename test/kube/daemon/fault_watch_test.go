package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// now deletes a pod as the collector of garbage does.
func (f *fleet) now(name string) {
	f.t.Helper()
	if err := f.api.CoreV1().Pods("default").Delete(f.t.Context(), name, *metav1.NewDeleteOptions(0)); err != nil {
		f.t.Fatal(err)
	}
}

// dropNode deletes a node, and nothing that is on it, and gives it as it was.
func (f *fleet) dropNode(name string) *v1.Node {
	f.t.Helper()
	n, err := f.api.CoreV1().Nodes().Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.api.CoreV1().Nodes().Delete(f.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// addNode has a machine come under the name of another one.
func (f *fleet) addNode(n *v1.Node) {
	f.t.Helper()
	n.ResourceVersion, n.UID = "", ""
	if _, err := f.api.CoreV1().Nodes().Create(f.t.Context(), n, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// Watches say nothing for a while and then have lost their version: what was missed is
// taken in. A pod that has another one's name is that other one, a node that is gone
// takes nothing more, and what others have put on a node counts.
func TestWatchGaps(t *testing.T) {
	t.Parallel()
	x := newFaulty(t, "n1", "n2", "n3")
	x.create("default", "stays", "3", onNode("n1"))
	x.create("default", "goes", "3", onNode("n2"))
	x.create("default", "again", "500m", onNode("n2"))
	for _, name := range []string{"stays", "goes", "again"} {
		x.runs("default", name)
	}
	x.create("default", "waits", "2", onNode("n1"))
	x.create("default", "renamed", "64")
	settled(t, x.p, x.audit)

	x.hold(true)
	x.now("stays")
	x.now("renamed")
	x.create("default", "renamed", "1", onNode("n3"))
	x.create("default", "agent", "3", func(pod *v1.Pod) { pod.Spec.SchedulerName, pod.Spec.NodeName = "other", "n1" })
	x.dropNode("n2")
	// Nobody has told Poise that n2 is gone: it makes a pod there, as others would.
	x.p.file(`job: there
image: none
request: {cpu: 500m}
selectors: [{key: kubernetes.io/hostname, op: In, values: [n2]}]
retry: {limit: 1, backoff: 1s}
`)
	eventually(t, "a pod on the node that is gone", func() bool { return len(x.jobPods()) == 1 })
	x.now("goes")
	x.p.submit("unseen", "500m")
	eventually(t, "a second pod of a job", func() bool { return len(x.jobPods()) == 2 })
	for _, pod := range x.jobPods() {
		if pod.Annotations["poise.dev/job-name"] == "unseen" {
			x.now(pod.Name)
		}
	}
	x.cutWatches()
	x.hold(false)

	// What is on n2 stays on it for Poise as long as it is there for the API server.
	x.runs("default", "renamed")
	x.now("again")
	x.now(x.jobPods()[0].Name)
	eventually(t, "there waits again", func() bool {
		out, err := x.p.try("job", "get", "there")
		return err == nil && strings.Contains(out, "waiting") && strings.Contains(out, "retry")
	})
	x.p.is("unseen", "lost")
	settled(t, x.p, x.audit)
	out := x.p.poise("job", "list")
	for name, want := range map[string]string{"default/stays": "lost", "default/goes": "lost", "default/again": "lost", "default/waits": "waiting"} {
		if !has(out, name, want) {
			t.Errorf("%s is not %s:\n%s", name, want, out)
		}
	}
	if out := x.p.poise("node", "list"); strings.Contains(out, "north/n2") {
		t.Errorf("n2 is still there:\n%s", out)
	}
	x.now("agent")
	x.runs("default", "waits")
	settled(t, x.p, x.audit)
}

// file submits the jobs of a file.
func (p *program) file(text string) {
	p.t.Helper()
	name := filepath.Join(p.t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.poise("job", "submit", name)
}

// has says whether a line of a list begins with a name and has a word.
func has(list, name, word string) bool {
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == name && slices.Contains(f, word) {
			return true
		}
	}
	return false
}

package daemon

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// submit submits a job with an image whose pod does what the script says.
func (p *program) submit(name, cpu string, script ...string) {
	p.t.Helper()
	args := []string{"job", "submit", "--name", name, "--image", "none", "--cpu", cpu}
	for _, s := range script {
		args = append(args, "--env", "kubelet.test/"+s)
	}
	p.poise(append(args, "--", "work", "$(HOME)")...)
}

// is waits until a job has a state, and gives what get says of it.
func (p *program) is(name, state string) string {
	p.t.Helper()
	var out string
	eventually(p.t, name+" "+state, func() bool {
		var err error
		out, err = p.try("job", "get", name)
		return err == nil && strings.Contains(out, state)
	})
	return out
}

// jobPods gives the pods that were made for jobs.
func (f *fleet) jobPods() []v1.Pod {
	f.t.Helper()
	list, err := f.api.CoreV1().Pods("").List(f.t.Context(), metav1.ListOptions{LabelSelector: "poise.dev/job"})
	if err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// A job with an image runs as a pod, with its output, its exit code and its end by
// cancel through the commands that all jobs have; one without an image never goes to
// the cluster.
func TestJobsRunAsPods(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	p.submit("fails", "1", "run-for=100ms", "exit-code=3", "log=one\ntwo")
	if out := p.is("fails", "failed"); !strings.Contains(out, "3") || !strings.Contains(out, "north/n") {
		t.Errorf("%s", out)
	}
	if out := p.poise("job", "logs", "fails"); !strings.HasPrefix(out, "one\ntwo\n") {
		t.Errorf("%q", out)
	}
	if out := p.poise("job", "logs", "fails", "--tail", "1"); strings.Contains(out, "two") {
		t.Errorf("%q", out)
	}
	p.submit("follows", "1", "start-in=500ms", "run-for=1s", "log=begun")
	if out := p.poise("job", "logs", "follows", "--follow"); !strings.HasPrefix(out, "begun\n") {
		t.Errorf("%q", out)
	}
	p.is("follows", "succeeded")
	p.submit("long", "1")
	p.is("long", "running")
	p.poise("job", "cancel", "long")
	if out := p.is("long", "failed"); !strings.Contains(out, "cancelled") {
		t.Errorf("%s", out)
	}
	var pods []v1.Pod
	eventually(t, "the pods of fails and follows alone", func() bool {
		pods = f.jobPods()
		return len(pods) == 2
	})
	for i := range pods {
		main := &pods[i].Spec.Containers[0]
		if main.Command[1] != "$$(HOME)" || main.Resources.Requests.Cpu().String() != "1" || pods[i].Annotations["poise.dev/decision"] == "" {
			t.Errorf("%+v %v", main, pods[i].Annotations)
		}
	}
	p.poise("job", "submit", "--name", "plain", "--cpu", "1")
	eventually(t, "plain says why it waits", func() bool {
		out, err := p.try("job", "why", "plain")
		return err == nil && strings.Contains(out, "poise.dev/cluster")
	})
}

// Pods and jobs that run as pods of one label keep apart, whichever comes first.
func TestJobsAndPodsKeepApart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	submit := func(name string) {
		p.poise("job", "submit", "--name", name, "--image", "none", "--cpu", "1", "--label", "app=web")
	}
	submit("first")
	p.is("first", "running")
	f.create("default", "web", "1", apart)
	if job, pod := f.jobPods()[0].Spec.NodeName, f.runs("default", "web").Spec.NodeName; pod == job {
		t.Errorf("both on %s", pod)
	}
	submit("second")
	p.is("second", "running")
	for _, pod := range f.jobPods() {
		if pod.Spec.NodeName == f.pod("default", "web").Spec.NodeName {
			t.Errorf("%s is where a pod keeps away from it", pod.Name)
		}
	}
}

// Jobs spread over two clusters; one API server is killed and comes back, and
// nothing is lost or made twice.
func TestJobsOfTwoClusters(t *testing.T) {
	t.Parallel()
	north, south := newFleet(t, "n1", "n2"), newFleet(t, "s1", "s2")
	p := serve(t, t.TempDir())
	p.poise("cluster", "join", "north", "--kubeconfig", north.plane.Kubeconfig(cluster.Admin))
	p.poise("cluster", "join", "south", "--kubeconfig", south.plane.Kubeconfig(cluster.Admin))
	for i := range 4 {
		p.submit(fmt.Sprint("first", i), "3", "run-for=3s")
	}
	for i := range 4 {
		p.is(fmt.Sprint("first", i), "running")
	}
	north.plane.KillAPIServer()
	for i := range 4 {
		p.submit(fmt.Sprint("second", i), "3", "run-for=100ms")
	}
	time.Sleep(4 * time.Second) // what runs in north ends meanwhile, unseen
	if err := north.plane.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		p.is(fmt.Sprint("first", i), "succeeded")
		p.is(fmt.Sprint("second", i), "succeeded")
	}
	once(t, north, south)
	if n, s := len(north.jobPods()), len(south.jobPods()); n < 2 || s < 2 || n+s != 8 {
		t.Errorf("%d pods in north and %d in south, expected 8 in all and 2 or more in each", n, s)
	}
}

// once checks that no job has two pods.
func once(t *testing.T, fleets ...*fleet) {
	t.Helper()
	pods := map[string]int{}
	for _, f := range fleets {
		for _, pod := range f.jobPods() {
			pods[pod.Labels["poise.dev/job"]]++
		}
	}
	for job, n := range pods {
		if n != 1 {
			t.Errorf("job %s has %d pods", job, n)
		}
	}
}

// The daemon is killed at any moment between a submission and the end of its pod:
// each job runs once.
func TestJobsOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "n1", "n2")
	dir := t.TempDir()
	p := serve(t, dir)
	p.poise("cluster", "join", "north", "--kubeconfig", f.plane.Kubeconfig(cluster.Admin))
	const jobs = 20
	random := rand.New(rand.NewPCG(1, 2))
	for i := range jobs {
		p.submit(fmt.Sprint("job", i), "500m", "run-for=1s")
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		p.kill()
		p = serve(t, dir)
	}
	for i := range jobs {
		p.is(fmt.Sprint("job", i), "succeeded")
	}
	if n := len(f.jobPods()); n != jobs {
		t.Errorf("%d pods, expected %d", n, jobs)
	}
	once(t, f)
}

package kubelet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/poise-sched/poise/test/kube/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait.
const patience = time.Minute

// bench is a plane with one kubelet for two nodes of 4 cpu.
type bench struct {
	t       *testing.T
	plane   *cluster.Plane
	client  *kubernetes.Clientset
	kubelet *Kubelet
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, plane: cluster.ForTest(t, cluster.Config{})}
	config := b.plane.Client(cluster.Admin)
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.CloseIdleConnections)
	if b.client, err = kubernetes.NewForConfigAndClient(config, http); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(func() { b.kubelet.Stop() })
	return b
}

func (b *bench) start() {
	b.t.Helper()
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	k, err := Start(b.t.Context(), Config{
		Client: b.plane.Client(cluster.Admin), Heartbeat: 500 * time.Millisecond,
		Nodes: []*v1.Node{NewNode("a", amounts, nil), NewNode("b", amounts, map[string]string{"zone": "west"})},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.kubelet = k
}

// bound makes a pod with annotations, each after its value, on a node.
func (b *bench) bound(name, node string, annotations ...string) {
	b.t.Helper()
	pod := scripted(annotations...)
	pod.Name = name
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pods := b.client.CoreV1().Pods("default")
	if _, err := pods.Create(b.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	if err := pods.Bind(b.t.Context(), &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: v1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// scripted is a pod of 1 cpu.
func scripted(annotations ...string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Annotations: map[string]string{}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "main", Image: "none", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

// until waits for the pod to be as said; nil is a pod that is gone.
func (b *bench) until(name string, as func(*v1.Pod) bool) *v1.Pod {
	b.t.Helper()
	var pod *v1.Pod
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		var err error
		pod, err = b.client.CoreV1().Pods("default").Get(b.t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			pod = nil
		case err != nil:
			continue // the API server may be down
		}
		if as(pod) {
			return pod
		}
	}
	b.t.Fatalf("pod %s is not as expected but %v", name, pod)
	return nil
}

func phase(p v1.PodPhase) func(*v1.Pod) bool {
	return func(pod *v1.Pod) bool { return pod != nil && pod.Status.Phase == p }
}

func gone(pod *v1.Pod) bool { return pod == nil }

func (b *bench) log(name string, options v1.PodLogOptions) (io.ReadCloser, error) {
	return b.client.CoreV1().Pods("default").GetLogs(name, &options).Stream(b.t.Context())
}

func (b *bench) allLog(name string, options v1.PodLogOptions) string {
	b.t.Helper()
	r, err := b.log(name, options)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func exitCode(pod *v1.Pod) int32 { return pod.Status.ContainerStatuses[0].State.Terminated.ExitCode }

func TestLife(t *testing.T) {
	b := newBench(t)

	t.Run("nodes are ready", func(t *testing.T) {
		n, err := b.client.CoreV1().Nodes().Get(t.Context(), "b", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n.Labels["zone"] != "west" || n.Labels[v1.LabelHostname] != "b" || n.Status.Allocatable.Pods().Value() != 110 || n.Status.Conditions[0].Status != v1.ConditionTrue {
			t.Errorf("got %v", n)
		}
	})

	t.Run("heartbeats", func(t *testing.T) {
		renewed := func() time.Time {
			l, err := b.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				return time.Time{}
			}
			return l.Spec.RenewTime.Time
		}
		var first time.Time
		for began := time.Now(); first.IsZero() || !renewed().After(first); time.Sleep(50 * time.Millisecond) {
			if first.IsZero() {
				first = renewed()
			}
			if time.Since(began) > patience {
				t.Fatalf("renewed at %v and not since", first)
			}
		}
	})

	t.Run("runs and succeeds", func(t *testing.T) {
		b.bound("good", "a", RunFor, "300ms", Log, "one\ntwo")
		pod := b.until("good", phase(v1.PodSucceeded))
		if exitCode(pod) != 0 || pod.Status.StartTime == nil {
			t.Errorf("got %v", pod.Status)
		}
		if got := b.allLog("good", v1.PodLogOptions{}); got != "one\ntwo\nexit code 0\n" {
			t.Errorf("log %q", got)
		}
		if got := b.allLog("good", v1.PodLogOptions{TailLines: new(int64(1))}); got != "exit code 0\n" {
			t.Errorf("the log's last line %q", got)
		}
	})

	t.Run("fails with its exit code", func(t *testing.T) {
		b.bound("bad", "a", RunFor, "1ms", ExitCode, "3")
		if pod := b.until("bad", phase(v1.PodFailed)); exitCode(pod) != 3 {
			t.Errorf("got %v", pod.Status)
		}
	})

	t.Run("a log is followed", func(t *testing.T) {
		b.bound("talks", "a", RunFor, "1500ms", Log, "hello")
		b.until("talks", phase(v1.PodRunning))
		r, err := b.log("talks", v1.PodLogOptions{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text := make([]byte, len("hello\n"))
		if _, err := io.ReadFull(r, text); err != nil || string(text) != "hello\n" {
			t.Fatalf("got %q, %v", text, err)
		}
		if pod, err := b.client.CoreV1().Pods("default").Get(t.Context(), "talks", metav1.GetOptions{}); err != nil || over(pod) {
			t.Errorf("it says hello only in the end")
		}
		if rest, err := io.ReadAll(r); err != nil || string(rest) != "exit code 0\n" {
			t.Errorf("got %q, %v", rest, err)
		}
	})

	t.Run("ends when deleted", func(t *testing.T) {
		b.bound("told", "a", StopIn, "200ms")
		b.until("told", phase(v1.PodRunning))
		began := time.Now()
		if err := b.client.CoreV1().Pods("default").Delete(t.Context(), "told", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if pod := b.until("told", func(*v1.Pod) bool { return true }); pod == nil && time.Since(began) < 200*time.Millisecond {
			t.Error("it is gone before it stopped")
		}
		b.until("told", gone)
	})

	t.Run("is killed when its grace is over", func(t *testing.T) {
		b.bound("deaf", "a", StopIn, "1h")
		b.until("deaf", phase(v1.PodRunning))
		began := time.Now()
		if err := b.client.CoreV1().Pods("default").Delete(t.Context(), "deaf", metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		b.until("deaf", gone)
		if took := time.Since(began); took < time.Second {
			t.Errorf("gone after %v, expected its grace of a second", took)
		}
	})

	t.Run("a full node refuses", func(t *testing.T) {
		for i := range 4 {
			b.bound(fmt.Sprint("fits-", i), "b")
		}
		for i := range 4 {
			b.until(fmt.Sprint("fits-", i), phase(v1.PodRunning))
		}
		b.bound("fifth", "b")
		if pod := b.until("fifth", phase(v1.PodFailed)); pod.Status.Reason != "OutOfcpu" {
			t.Errorf("got %v", pod.Status)
		}
	})

	t.Run("goes on after the API server was away", func(t *testing.T) {
		b.bound("long", "a", RunFor, "1s")
		b.until("long", phase(v1.PodRunning))
		b.plane.KillAPIServer()
		time.Sleep(1500 * time.Millisecond) // it ends meanwhile
		if err := b.plane.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.until("long", phase(v1.PodSucceeded))
	})

	t.Run("a node goes down and comes back", func(t *testing.T) {
		b.bound("waits", "a", RunFor, "500ms")
		b.until("waits", phase(v1.PodRunning))
		if err := b.kubelet.Down(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		n, err := b.client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || n.Status.Conditions[0].Status != v1.ConditionUnknown || len(n.Spec.Taints) != 2 {
			t.Errorf("got %v, %v", n, err)
		}
		time.Sleep(time.Second)
		if pod := b.until("waits", func(*v1.Pod) bool { return true }); pod.Status.Phase != v1.PodRunning {
			t.Errorf("a silent node says %s", pod.Status.Phase)
		}
		if err := b.kubelet.Up(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		b.until("waits", phase(v1.PodSucceeded))
		if n, err = b.client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{}); err != nil || len(n.Spec.Taints) != 0 {
			t.Errorf("got %v, %v", n, err)
		}
	})

	t.Run("another kubelet takes over", func(t *testing.T) {
		b.bound("orphan", "a", RunFor, "2s")
		b.until("orphan", phase(v1.PodRunning))
		b.kubelet.Stop()
		b.start()
		b.until("orphan", phase(v1.PodSucceeded))
	})
}

func TestRead(t *testing.T) {
	f := func(runFor time.Duration, policy v1.RestartPolicy, wantEnd time.Duration, wantCode int32, annotations ...string) {
		t.Helper()
		pod := scripted(annotations...)
		pod.Spec.RestartPolicy = policy
		s, err := read(pod, runFor)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Unix(1000, 0)
		at, e := s.end(began)
		if wantEnd < 0 && at.IsZero() {
			return
		}
		if at.Sub(began) != wantEnd || e.exitCode != wantCode {
			t.Errorf("%q: ends after %v with %d, expected %v and %d", annotations, at.Sub(began), e.exitCode, wantEnd, wantCode)
		}
	}
	const never, always, onFailure = v1.RestartPolicyNever, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure
	f(0, never, -1, 0)
	f(time.Second, never, time.Second, 0)
	f(time.Second, never, 0, 0, RunFor, "0s")
	f(0, never, time.Minute, 7, RunFor, "1m", ExitCode, "7")
	f(time.Second, always, -1, 0)
	f(time.Second, onFailure, time.Second, 0)
	f(time.Second, onFailure, -1, 0, ExitCode, "1")

	refused := func(annotations ...string) {
		t.Helper()
		if _, err := read(scripted(annotations...), 0); err == nil || !strings.Contains(err.Error(), annotations[0]) {
			t.Errorf("%q: got %v", annotations, err)
		}
	}
	refused(RunFor, "5")
	refused(StartIn, "-1s")
	refused(ExitCode, "256")
	refused(ExitCode, "-1")
}

func TestDeadline(t *testing.T) {
	pod := scripted(RunFor, "1m")
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	f := func(seconds int64, want time.Duration, reason string) {
		t.Helper()
		pod.Spec.ActiveDeadlineSeconds = &seconds
		s, err := read(pod, 0)
		if err != nil {
			t.Fatal(err)
		}
		at, e := s.end(time.Unix(0, 0))
		if at.Sub(time.Unix(0, 0)) != want || e.reason != reason {
			t.Errorf("%d s: after %v for %q, expected %v for %q", seconds, at.Sub(time.Unix(0, 0)), e.reason, want, reason)
		}
	}
	f(5, 5*time.Second, "DeadlineExceeded")
	f(600, time.Minute, "")
}

func TestAdmit(t *testing.T) {
	f := func(want string, others int, cpu, pods string) {
		t.Helper()
		e, ok := admit(scripted(), slices.Repeat([]*v1.Pod{scripted()}, others), v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse(pods)})
		if e.reason != want || ok != (want == "") {
			t.Errorf("%d others, %s cpu, %s pods: got %q, %v", others, cpu, pods, e.reason, ok)
		}
	}
	f("", 0, "1", "1")
	f("", 3, "4", "4")
	f("OutOfcpu", 4, "4", "5")
	f("OutOfpods", 3, "4", "3")
	f("OutOfcpu", 0, "999m", "110")
}

func TestLog(t *testing.T) {
	l := newLog()
	began := time.Unix(0, 0)
	for i := range 4 {
		l.print(began.Add(time.Duration(i)*time.Second), fmt.Sprint(i))
	}
	f := func(since int, tail, want int) {
		t.Helper()
		if got := l.first(began.Add(time.Duration(since)*time.Second), tail); got != want {
			t.Errorf("since %d, tail %d: got %d, expected %d", since, tail, got, want)
		}
	}
	f(0, -1, 0)
	f(0, 0, 4)
	f(0, 2, 2)
	f(0, 9, 0)
	f(3, 2, 3)
	f(9, -1, 4)

	_, over, more := l.from(4)
	if over {
		t.Error("over at once")
	}
	l.end()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-more:
	case <-ctx.Done():
		t.Error("nobody is told of the end")
	}
	if _, over, _ := l.from(4); !over {
		t.Error("not over in the end")
	}
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is for a user of the plane. Its connections end with the test.
func client(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	http, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.CloseIdleConnections)
	set, err := kubernetes.NewForConfigAndClient(c, http)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func createNode(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	amounts := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Capacity: amounts, Allocatable: amounts,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func pod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "none"}}},
	}
}

func createPod(t *testing.T, c kubernetes.Interface, name string) *v1.Pod {
	t.Helper()
	p, err := c.CoreV1().Pods("default").Create(t.Context(), pod(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func getPod(t *testing.T, c kubernetes.Interface, name string) *v1.Pod {
	t.Helper()
	p, err := c.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bind(ctx context.Context, c kubernetes.Interface, p *v1.Pod, uid types.UID, node string) error {
	return c.CoreV1().Pods(p.Namespace).Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: uid, Annotations: map[string]string{"poise.dev/by": "test"}},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

func TestPlane(t *testing.T) {
	p := ForTest(t, Config{})
	c := client(t, p.Client(Admin))

	t.Run("version", func(t *testing.T) {
		v, err := c.Discovery().ServerVersion()
		if err != nil || v.GitVersion != Version {
			t.Errorf("got %v, %v, expected %s", v, err, Version)
		}
	})

	t.Run("nodes stay ready and without taints", func(t *testing.T) {
		for i := range 100 {
			createNode(t, c, fmt.Sprintf("n-%d", i))
		}
		all, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(all.Items) != 100 {
			t.Fatalf("got %d nodes, %v, expected 100", len(all.Items), err)
		}
		for _, n := range all.Items {
			if len(n.Spec.Taints) > 0 || len(n.Status.Conditions) == 0 || n.Status.Allocatable.Cpu().Value() != 4 {
				t.Errorf("%s: got taints %v, conditions %v, %v", n.Name, n.Spec.Taints, n.Status.Conditions, n.Status.Allocatable)
			}
		}
	})

	t.Run("a binding binds once", func(t *testing.T) {
		created := createPod(t, c, "bound")
		if err := bind(t.Context(), c, created, "another", "n-1"); !apierrors.IsConflict(err) {
			t.Errorf("with another's UID: got %v, expected a conflict", err)
		}
		if err := bind(t.Context(), c, created, created.UID, "n-1"); err != nil {
			t.Fatal(err)
		}
		if got := getPod(t, c, "bound"); got.Spec.NodeName != "n-1" || got.Annotations["poise.dev/by"] != "test" {
			t.Errorf("got node %q, annotations %v", got.Spec.NodeName, got.Annotations)
		}
		if err := bind(t.Context(), c, created, created.UID, "n-2"); !apierrors.IsConflict(err) {
			t.Errorf("again: got %v, expected a conflict", err)
		}
	})

	t.Run("killed and started again", func(t *testing.T) {
		createPod(t, c, "survivor")
		p.KillAPIServer()
		if _, err := c.CoreV1().Pods("default").Get(t.Context(), "survivor", metav1.GetOptions{}); err == nil {
			t.Error("a killed API server answers")
		}
		if err := p.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		getPod(t, c, "survivor")
		if err := p.StartAPIServer(t.Context()); err == nil {
			t.Error("it starts twice")
		}
	})

	t.Run("etcd paused", func(t *testing.T) {
		if err := p.PauseEtcd(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.CoreV1().Pods("default").Create(ctx, pod("late"), metav1.CreateOptions{}); err == nil {
			t.Error("a write succeeds while etcd is paused")
		}
		cached, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil || len(cached.Items) != 100 {
			t.Errorf("a read from memory: got %d nodes, %v, expected 100", len(cached.Items), err)
		}
		if err := p.ResumeEtcd(); err != nil {
			t.Fatal(err)
		}
		createPod(t, c, "after")
	})

	t.Run("processor time", func(t *testing.T) {
		used, err := p.CPU()
		if err != nil || len(used) != 2 || used["kube-apiserver"] < 100*time.Millisecond || used["etcd"] <= 0 {
			t.Errorf("got %v, %v", used, err)
		}
	})

	t.Run("stopped while paused", func(t *testing.T) {
		if err := p.PauseEtcd(); err != nil {
			t.Fatal(err)
		}
		p.Stop()
		if conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "https://")); err == nil {
			conn.Close()
			t.Error("somebody still listens")
		}
		if p.PauseEtcd() == nil || p.etcd.running() {
			t.Error("etcd still runs")
		}
		p.Stop() // once more does nothing
	})
}

func TestRBAC(t *testing.T) {
	robot := ServiceAccount("poise", "scheduler")
	p := ForTest(t, Config{RBAC: true, Users: []User{robot}})
	admin := client(t, p.Client(Admin))
	fromFile, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig(robot.Name))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, fromFile)

	if _, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("before: got %v, expected to be refused", err)
	}
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:kube-scheduler"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "poise", Name: "scheduler"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(pollEvery) { // the server learns of it by a watch
		if _, err = c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
			break
		}
		if time.Since(began) > StartIn {
			t.Fatalf("after: %v", err)
		}
	}
	if _, err := c.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: got %v, expected to be refused", err)
	}

	// A second plane beside it is another cluster with other users.
	other := ForTest(t, Config{})
	createNode(t, client(t, other.Client(Admin)), "theirs")
	if _, err := admin.CoreV1().Nodes().Get(t.Context(), "theirs", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other plane's node: got %v, expected not to find it", err)
	}
	stranger := other.Client(Admin)
	stranger.BearerToken = p.Client(Admin).BearerToken
	if _, err := client(t, stranger).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the other plane takes this one's token")
	}
}

func TestScheduler(t *testing.T) {
	p := ForTest(t, Config{Scheduler: true})
	c := client(t, p.Client(Admin))
	createNode(t, c, "n")
	createPod(t, c, "p")
	for began := time.Now(); getPod(t, c, "p").Spec.NodeName != "n"; time.Sleep(pollEvery) {
		if time.Since(began) > StartIn {
			t.Fatal("kube-scheduler does not bind the pod")
		}
	}
}

func TestNoAssets(t *testing.T) {
	t.Setenv("KUBE_ASSETS", t.TempDir())
	t.Setenv("PATH", "")
	t.Run("skips", func(t *testing.T) {
		ForTest(t, Config{})
		t.Error("a plane without binaries")
	})
}

// The life of one server, without the others.
func TestEtcd(t *testing.T) {
	addresses, err := free(1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newEtcd(t.TempDir(), addresses[0])
	if errors.Is(err, ErrNoAssets) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	ready := etcdReady(addresses[0])
	answers := func(within time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return ready(ctx) == nil
	}
	if err := p.signal(syscall.SIGSTOP); err == nil {
		t.Error("one that has not started takes a signal")
	}
	if err := run(t.Context(), p, ready); err != nil {
		t.Fatal(err)
	}
	if err := p.signal(syscall.SIGSTOP); err != nil || answers(300*time.Millisecond) {
		t.Errorf("paused it answers, or %v", err)
	}
	if err := p.signal(syscall.SIGCONT); err != nil || !answers(StartIn) {
		t.Errorf("resumed it does not answer, or %v", err)
	}
	p.kill()
	if p.running() || answers(StartIn) {
		t.Error("killed it runs")
	}
	if err := run(t.Context(), p, ready); err != nil {
		t.Fatalf("again on its data: %v", err)
	}
	if used, err := processorTime(p.cmd.Process.Pid); err != nil || used <= 0 || used > StartIn {
		t.Errorf("processor time: got %v, %v", used, err)
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if p.running() {
		t.Error("stopped while paused it runs")
	}
}

// A server that ends at once makes an error with what it said, and leaves
// nothing behind.
func TestServerEnds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBE_ASSETS", dir)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho no flag $1\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Config{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "etcd ended, it printed:\nno flag --data-dir") {
		t.Errorf("got %v", err)
	}
}

func TestUsers(t *testing.T) {
	f := func(users ...User) {
		t.Helper()
		if _, err := writeTokens(filepath.Join(t.TempDir(), "tokens"), users); err == nil {
			t.Errorf("%v: expected an error", users)
		}
	}
	f(User{Name: ""})
	f(User{Name: "a"}, User{Name: "a"})
}

func TestVersion(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\tk8s.io/kubernetes "+Version+"\n") {
		t.Errorf("go.mod requires another version of k8s.io/kubernetes than %s", Version)
	}
}

package daemon

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/poise-sched/poise/test/kube/cluster"
	"github.com/poise-sched/poise/test/kube/kubelet"
)

// patience bounds every wait.
const patience = time.Minute

// binary builds the program once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "poise")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "poise")
	out, err := exec.Command("go", "build", "-C", filepath.Join("..", "..", ".."), "-trimpath", "-o", name, "./cmd/poise").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// program is a running daemon.
type program struct {
	t    *testing.T
	name string
	dir  string
	cmd  *exec.Cmd
	log  text
}

// text is what a program prints, read while it does.
type text struct {
	mu sync.Mutex
	is bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.is.Write(p)
}

// String gives what was printed so far.
func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.is.String()
}

// said gives what the daemon has logged so far.
func (p *program) said() string { return p.log.String() }

// serve starts a daemon on a data directory, with more flags. It ends with the test.
func serve(t *testing.T, dir string, more ...string) *program {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"serve", "--data-dir", dir, "--api.listen", "127.0.0.1:0", "--engine.kind", "sim", "--queue.retry-base", "50ms"}, more...)
	return start(t, name, dir, exec.Command(name, args...))
}

// start has a command serve on a data directory until the test ends, and waits until
// it answers.
func start(t *testing.T, name, dir string, cmd *exec.Cmd) *program {
	t.Helper()
	p := launch(t, name, dir, cmd)
	p.answers()
	return p
}

// launch has a command serve on a data directory until the test ends.
func launch(t *testing.T, name, dir string, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, name: name, dir: dir, cmd: cmd}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the daemon said:\n%s", p.said())
		}
	})
	return p
}

func (p *program) answers() {
	p.t.Helper()
	eventually(p.t, "the daemon answers", func() bool {
		_, err := p.try("cluster", "list")
		return err == nil
	})
}

func (p *program) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may be gone
	_ = p.cmd.Wait()
}

func (p *program) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.name, args...)
	cmd.Env = append(os.Environ(), "POISE_DATA_DIR="+p.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// poise runs a command that must succeed.
func (p *program) poise(args ...string) string {
	p.t.Helper()
	out, err := p.try(args...)
	if err != nil {
		p.t.Fatalf("poise %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// fleet is a plane with kubelets for nodes of 4 cpu.
type fleet struct {
	t       *testing.T
	plane   *cluster.Plane
	api     *kubernetes.Clientset
	kubelet *kubelet.Kubelet
}

func newFleet(t *testing.T, nodes ...string) *fleet {
	t.Helper()
	return newFleetOn(t, cluster.ForTest(t, cluster.Config{}), nodes...)
}

func newFleetOn(t *testing.T, plane *cluster.Plane, nodes ...string) *fleet {
	t.Helper()
	return newFleetOf(t, plane, "4", nodes...)
}

// newFleetOf has nodes of so much cpu.
func newFleetOf(t *testing.T, plane *cluster.Plane, cpu string, nodes ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, plane: plane}
	var err error
	if f.api, err = kubernetes.NewForConfig(f.plane.Client(cluster.Admin)); err != nil {
		t.Fatal(err)
	}
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
	var list []*v1.Node
	for i, name := range nodes {
		list = append(list, kubelet.NewNode(name, amounts, map[string]string{"zone": []string{"east", "west"}[i%2]}))
	}
	if f.kubelet, err = kubelet.Start(t.Context(), kubelet.Config{Client: f.plane.Client(cluster.Admin), Nodes: list}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.kubelet.Stop)
	return f
}

// space makes a namespace.
func (f *fleet) space(name string) {
	f.t.Helper()
	if _, err := f.api.CoreV1().Namespaces().Create(f.t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// create makes a pod for Poise with a cpu request.
func (f *fleet) create(space, name, cpu string, change ...func(*v1.Pod)) *v1.Pod {
	f.t.Helper()
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{SchedulerName: "poise", RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{
		Name: "main", Image: "none", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
	}}}}
	for _, c := range change {
		c(p)
	}
	made, err := f.api.CoreV1().Pods(space).Create(f.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

func (f *fleet) pod(space, name string) *v1.Pod {
	f.t.Helper()
	p, err := f.api.CoreV1().Pods(space).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// runs waits until a pod runs and gives it.
func (f *fleet) runs(space, name string) *v1.Pod {
	f.t.Helper()
	var p *v1.Pod
	eventually(f.t, space+"/"+name+" runs", func() bool {
		p = f.pod(space, name)
		return p.Status.Phase == v1.PodRunning
	})
	return p
}

func (f *fleet) delete(space, name string) {
	f.t.Helper()
	if err := f.api.CoreV1().Pods(space).Delete(f.t.Context(), name, *metav1.NewDeleteOptions(1)); err != nil {
		f.t.Fatal(err)
	}
}

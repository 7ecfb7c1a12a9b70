package adapter

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/test/kube/cluster"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// replicaOf is the variable with the kubeconfig of a replica that this program is then.
const replicaOf = "POISE_TEST_REPLICA"

func TestMain(m *testing.M) {
	if file := os.Getenv(replicaOf); file != "" {
		if err := replica(context.Background(), file, "child", os.Stdout); err != nil {
			fmt.Println("error:", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const stalledLease = 6 * time.Second

// replica leads and binds pods that wait to n1, for ever, also when it does not lead any
// more. It prints what it does.
func replica(ctx context.Context, file, identity string, out io.Writer) error {
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	h, err := kube.OpenHome(kube.HomeOptions{Kubeconfig: config, Identity: identity, Lease: stalledLease, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	lead, err := h.Lead(ctx)
	if err != nil {
		return err
	}
	defer h.Resign(context.Background())
	fmt.Fprintf(out, "leads in term %d\n", h.Term())
	context.AfterFunc(lead, func() { fmt.Fprintln(out, "over:", context.Cause(lead)) })
	c, err := kube.New(kube.Options{
		Name: "north", Kubeconfig: config, Log: slog.New(slog.NewTextHandler(out, nil)), Guard: h,
		Now: func() poise.Time { return poise.Time(time.Now().UnixMilli()) },
	})
	if err != nil {
		return err
	}
	var binding sync.WaitGroup
	defer binding.Wait()
	bind := func(w kube.PodWaits) {
		if identity == "parent" && strings.HasSuffix(w.Job.Name, "/under-way") {
			return // which is bound by nobody then but by what is on its way
		}
		binding.Go(func() {
			err := c.Bind(ctx, engine.Binding{Placement: identity + "-" + string(w.Job.ID), Job: w.Job.ID, Name: w.Job.Name, Tenant: w.Job.Tenant, Node: "north/n1"})
			fmt.Fprintf(out, "bind %s: %v\n", w.Job.Name, err)
		})
	}
	return c.Follow(ctx, func(list []kube.Change) {
		for _, change := range list {
			switch change := change.(type) {
			case kube.Synced:
				for _, w := range change.Waiting {
					bind(w)
				}
			case kube.PodWaits:
				bind(change)
			}
		}
	})
}

// road is the way from a replica to the API server: bindings wait on it while it is
// held.
type road struct {
	server *httptest.Server

	mu      sync.Mutex
	held    chan struct{} // nil = it is open
	waits   int
	writes  []string // method and path of what was sent
	answers []string // to bindings
}

func newRoad(t *testing.T, plane *cluster.Plane) *road {
	t.Helper()
	to := plane.Client(cluster.Admin)
	upstream, err := url.Parse(to.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(to.CAData)
	r := &road{}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }, Transport: transport, FlushInterval: -1,
		ModifyResponse: func(a *http.Response) error {
			if !strings.HasSuffix(a.Request.URL.Path, "/binding") {
				return nil
			}
			text, err := io.ReadAll(a.Body)
			a.Body = io.NopCloser(bytes.NewReader(text))
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answers = append(r.answers, fmt.Sprintf("%s %d %s", a.Request.URL.Path, a.StatusCode, text))
			return err
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		held := r.held
		if q.Method != http.MethodGet {
			r.writes = append(r.writes, q.Method+" "+q.URL.Path)
		}
		wait := held != nil && strings.HasSuffix(q.URL.Path, "/binding")
		if wait {
			r.waits++
		}
		r.mu.Unlock()
		if wait {
			<-held
		}
		proxy.ServeHTTP(w, q)
	}))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.server.StartTLS()
	t.Cleanup(func() {
		r.open()
		r.server.CloseClientConnections()
		r.server.Close()
		transport.CloseIdleConnections()
	})
	return r
}

// kubeconfig writes one that goes by this road.
func (r *road) kubeconfig(t *testing.T, plane *cluster.Plane) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["road"] = &api.Cluster{
		Server:                   r.server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw}),
	}
	config.AuthInfos["admin"] = &api.AuthInfo{Token: plane.Client(cluster.Admin).BearerToken}
	config.Contexts["road"] = &api.Context{Cluster: "road", AuthInfo: "admin"}
	config.CurrentContext = "road"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func (r *road) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = make(chan struct{})
}

func (r *road) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil {
		close(r.held)
		r.held = nil
	}
}

func (r *road) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits
}

// answer gives the last one to a binding.
func (r *road) answer() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[len(r.answers)-1]
}

func (r *road) wrote() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.writes)
}

// said is what a replica printed.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, strings.TrimSpace(string(text)))
	return len(text), nil
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.lines, "\n"), text)
}

func (e *estate) eventually(what string, ok func() bool) {
	e.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatalf("never came: %s", what)
		}
	}
}

// fence applies the fence of the manifests.
func (e *estate) fence() {
	e.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "kubernetes", "fence.yaml"))
	e.fine(err)
	objects, err := dynamic.NewForConfig(e.plane.Client(cluster.Admin))
	e.fine(err)
	for _, part := range strings.Split(string(text), "\n---\n") {
		var o unstructured.Unstructured
		e.fine(yaml.UnmarshalStrict([]byte(part), &o.Object))
		kind := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: map[string]string{
			"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		}[o.GetKind()]}
		_, err := objects.Resource(kind).Create(e.Context(), &o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		e.fine(err)
	}
}

func (e *estate) node(name string) {
	e.Helper()
	amounts := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts}}
	_, err := e.api.CoreV1().Nodes().Create(e.Context(), node, metav1.CreateOptions{})
	e.fine(err)
}

func (e *estate) pod(name string) {
	e.Helper()
	_, err := e.api.CoreV1().Pods("default").Create(e.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodSpec{SchedulerName: "poise", Containers: []v1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	e.fine(err)
}

func (e *estate) placement(name string) string {
	e.Helper()
	p, err := e.api.CoreV1().Pods("default").Get(e.Context(), name, metav1.GetOptions{})
	e.fine(err)
	if p.Spec.NodeName == "" {
		return ""
	}
	return p.Annotations["poise.dev/placement"] + " in term " + p.Annotations["poise.dev/term"]
}

// The leader stops for longer than its lease while bindings of it are on their way;
// another takes over. Woken, it sends nothing, and what was on its way is refused.
func TestStalledLeader(t *testing.T) {
	e := newEstate(t, "poise")
	e.fence()
	e.node("n1")
	r := newRoad(t, e.plane)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), replicaOf+"="+r.kubeconfig(t, e.plane))
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := child.StdoutPipe()
	e.fine(err)
	child.Stderr = os.Stderr
	e.fine(child.Start())
	var old, now said
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = old.Write(lines.Bytes())
		}
	}()
	defer func() {
		_ = child.Process.Kill()
		<-read
		_ = child.Wait()
		if t.Failed() {
			now.mu.Lock()
			defer now.mu.Unlock()
			t.Logf("the old one said %q\nthe new one said %q", old.lines, now.lines)
		}
	}()
	e.eventually("the child leads", func() bool { return old.has("leads in term 1") })
	e.pod("first")
	e.eventually("the child binds", func() bool { return old.has("bind default/first: <nil>") })
	if got := e.placement("first"); !strings.HasSuffix(got, "in term 1") {
		t.Errorf("first: %q", got)
	}
	r.close()
	e.pod("under-way")
	e.eventually("a binding on its way", func() bool { return r.waiting() == 1 })
	e.fine(child.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()

	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- replica(ctx, e.plane.Kubeconfig(cluster.Admin), "parent", &now) }()
	defer func() {
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("the new one ended with %v", err)
		}
	}()
	e.eventually("another one leads", func() bool { return now.has("leads in term 2") })
	t.Logf("it took over in %v, with a lease of %v", time.Since(stopped), stalledLease)
	e.pod("late")
	e.eventually("late is bound", func() bool { return strings.HasPrefix(e.placement("late"), "parent-") })
	r.open()
	e.eventually("an answer to what was on its way", func() bool { return !strings.Contains(r.answer(), "/pods/first/") })
	if got := r.answer(); !strings.Contains(got, "/pods/under-way/binding 403") || !strings.Contains(got, "another replica leads in term 2") {
		t.Errorf("to what was on its way: %q", got)
	}
	before := r.wrote()
	e.fine(child.Process.Signal(syscall.SIGCONT))
	e.pod("last")
	e.eventually("the old one wants to bind", func() bool { return old.has("bind default/last: ") })
	e.eventually("the old one knows", func() bool { return old.has("over: ") })
	e.eventually("last is bound", func() bool { return strings.HasPrefix(e.placement("last"), "parent-") })
	if got := e.placement("under-way"); got != "" {
		t.Errorf("under-way: %q", got)
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	for _, line := range old.lines {
		if strings.HasPrefix(line, "bind ") && !strings.HasPrefix(line, "bind default/first") && strings.HasSuffix(line, "<nil>") {
			t.Error(line)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, write := range r.writes[before:] {
		if !strings.HasSuffix(write, "/leases/poise") { // a renewal was under way, as it seemed to it
			t.Errorf("the old one wrote %q after it was woken", write)
		}
	}
	if slices.ContainsFunc(now.lines, func(line string) bool { return strings.Contains(line, "no fence") }) {
		t.Error("the new one found no fence")
	}
}

// A binding and a pod of a term before are refused, those of this term and of none are
// not.
func TestFence(t *testing.T) {
	e := newEstate(t, "poise")
	e.node("n1")
	for _, name := range []string{"a", "b"} {
		h := e.home("poise", name, time.Minute)
		e.leads(h)
		e.fine(h.Resign(t.Context()))
	}
	notes := func(term string) map[string]string {
		if term == "" {
			return nil
		}
		return map[string]string{"poise.dev/term": term}
	}
	f := func(term string, allowed bool) {
		t.Helper()
		name := "of" + term + "x"
		e.pod(name + "b")
		_, made := e.api.CoreV1().Pods("default").Create(t.Context(), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name + "c", Annotations: notes(term)},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "none"}}},
		}, metav1.CreateOptions{})
		bound := e.api.CoreV1().Pods("default").Bind(t.Context(), &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "b", Namespace: "default", Annotations: notes(term)}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"},
		}, metav1.CreateOptions{})
		for _, err := range []error{made, bound} {
			if refused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err); refused == allowed || allowed && err != nil {
				t.Errorf("term %q: %v", term, err)
			}
		}
	}
	maps := e.api.CoreV1().ConfigMaps("poise")
	record := func(name, term, data, label string) *v1.ConfigMap {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes(term), Labels: map[string]string{"l": label}}, Data: map[string]string{"record": data}}
	}
	refused := func(err error, want bool) {
		t.Helper()
		if apierrors.IsForbidden(err) != want || !want && err != nil {
			t.Errorf("%v", err)
		}
	}
	job := func(term, data string) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Annotations: notes(term)}, Spec: batchv1.JobSpec{Suspend: new(true)}}
		j.Annotations["poise.dev/job"] = data
		j.Spec.Template.Spec = v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "main", Image: "none"}}}
		return j
	}
	_, err := maps.Create(t.Context(), record("old", "1", "a", ""), metav1.CreateOptions{})
	refused(err, false) // there is no policy yet
	_, err = e.api.BatchV1().Jobs("poise").Create(t.Context(), job("1", "a"), metav1.CreateOptions{})
	refused(err, false)
	e.fence()
	e.eventually("the fence", func() bool {
		err := e.api.CoreV1().Pods("poise").Bind(t.Context(), &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "poise", Annotations: notes("1")}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"},
		}, metav1.CreateOptions{})
		return apierrors.IsForbidden(err)
	})
	f("", true)
	f("1", false)
	f("2", true)
	f("10", true)
	f("-1", false)
	f("x", false)
	_, err = maps.Create(t.Context(), record("new", "1", "a", ""), metav1.CreateOptions{})
	refused(err, true)
	for _, c := range []struct {
		term, data, label string
		refused           bool
	}{{"1", "a", "l", false}, {"1", "b", "l", true}, {"2", "b", "l", false}, {"1", "b", "l", true}} {
		_, err = maps.Update(t.Context(), record("old", c.term, c.data, c.label), metav1.UpdateOptions{})
		refused(err, c.refused)
	}
	patch := func(text string) error {
		_, err := e.api.BatchV1().Jobs("poise").Patch(t.Context(), "j", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	refused(patch(`{"metadata":{"labels":{"l":"x"}}}`), false)
	refused(patch(`{"metadata":{"annotations":{"poise.dev/job":"b","poise.dev/term":"1"}}}`), true)
	refused(patch(`{"metadata":{"annotations":{"poise.dev/job":"b","poise.dev/term":"2"}}}`), false)
}

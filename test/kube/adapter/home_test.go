package adapter

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/test/kube/cluster"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// estate is a plane with the namespaces of a home.
type estate struct {
	*testing.T
	plane  *cluster.Plane
	api    *kubernetes.Clientset
	config []byte
}

func newEstate(t *testing.T, spaces ...string) *estate {
	t.Helper()
	e := &estate{T: t, plane: cluster.ForTest(t, cluster.Config{})}
	var err error
	e.api, err = kubernetes.NewForConfig(e.plane.Client(cluster.Admin))
	e.fine(err)
	e.config, err = os.ReadFile(e.plane.Kubeconfig(cluster.Admin))
	e.fine(err)
	for _, name := range spaces {
		_, err := e.api.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		e.fine(err)
	}
	return e
}

func (e *estate) fine(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// home opens one that resigns at the end of the test.
func (e *estate) home(space, identity string, lease time.Duration) *kube.Home {
	e.Helper()
	h, err := kube.OpenHome(kube.HomeOptions{Kubeconfig: e.config, Namespace: space, Identity: identity, Lease: lease, Log: slog.New(slog.DiscardHandler)})
	e.fine(err)
	e.Cleanup(func() {
		if err := h.Resign(context.Background()); err != nil {
			e.Log(err)
		}
	})
	return h
}

// leads waits until a home leads.
func (e *estate) leads(h *kube.Home) context.Context {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	e.Cleanup(cancel)
	lead, err := h.Lead(ctx)
	e.fine(err)
	return lead
}

func TestTwoReplicasElectOne(t *testing.T) {
	e := newEstate(t, "poise")
	a, b := e.home("poise", "a", 5*time.Second), e.home("poise", "b", 5*time.Second)
	if err := a.Put(t.Context(), kube.Record{Kind: kube.TenantRecord, Name: "red", Body: []byte("{}")}); poise.KindOf(err) != poise.Unavailable {
		t.Errorf("one who does not lead wrote: %v", err)
	}
	lead := e.leads(a)
	short, cancel := context.WithTimeout(t.Context(), 7*time.Second)
	defer cancel()
	if _, err := b.Lead(short); err == nil || b.Leader() != "a" || b.Term() != 0 {
		t.Errorf("the second one leads too: %v, leader %q", err, b.Leader())
	}
	e.fine(a.Leading())
	if a.Term() != 1 || lead.Err() != nil {
		t.Errorf("term %d, %v", a.Term(), context.Cause(lead))
	}
	since := time.Now()
	e.fine(a.Resign(t.Context()))
	e.leads(b)
	t.Logf("after an orderly end the other one led in %v", time.Since(since))
	if time.Since(since) > 3*time.Second || b.Term() != 2 || a.Leading() == nil || lead.Err() == nil {
		t.Errorf("after %v: term %d; the first one: %v, %v", time.Since(since), b.Term(), a.Leading(), context.Cause(lead))
	}
}

func TestRecordsOnARealAPIServer(t *testing.T) {
	e := newEstate(t, "home")
	a := e.home("home", "a", time.Minute)
	e.leads(a)
	module := make([]byte, 5<<20)
	for i := range module {
		module[i] = byte(i * i >> 8)
	}
	want := []kube.Record{
		{Kind: kube.JobRecord, Name: "j1", Body: []byte(`{"id":"j1"}`), Job: &kube.JobTemplate{
			Image: "registry.example.org/train:7", Command: []string{"python", "$(HOME)", ""}, Devices: 2, DeviceKind: "gpu",
			Amounts: resource.List{{Name: "cpu", Value: 1500}, {Name: "license", Value: 1}, {Name: "memory", Value: 1 << 30}, {Name: "pods", Value: 1}},
			Labels:  map[string]string{"team": "red", "not a label": "x", "poise.dev/record": "secret"},
		}},
		{Kind: kube.JobRecord, Name: "j2", Body: []byte(`{}`)},
		{Kind: kube.ModuleRecord, Name: "empty", Body: []byte{}},
		{Kind: kube.ModuleRecord, Name: "sha256:0f", Body: module},
		{Kind: kube.SecretRecord, Name: "token/äöü", Body: []byte(`"\u0000<&>"`)},
		{Kind: kube.TenantRecord, Name: "", Body: []byte(`{"name":""}`)},
		{Kind: kube.TenantRecord, Name: "Red Team", Body: []byte(`{"quota":[1,2]}`)},
	}
	for _, r := range want {
		e.fine(a.Put(t.Context(), r))
	}
	same := func(want []kube.Record) {
		t.Helper()
		got, err := a.Records(t.Context())
		e.fine(err)
		if len(got) != len(want) {
			t.Fatalf("%d records, expected %d", len(got), len(want))
		}
		for i, r := range got {
			if w := want[i]; r.Kind != w.Kind || r.Name != w.Name || string(r.Body) != string(w.Body) || r.Created.IsZero() {
				t.Errorf("%s %q: %d bytes of %v, expected %s %q: %d bytes", r.Kind, r.Name, len(r.Body), r.Created, w.Kind, w.Name, len(w.Body))
			}
		}
	}
	same(want)
	jobs, err := e.api.BatchV1().Jobs("home").List(t.Context(), metav1.ListOptions{LabelSelector: "team=red"})
	e.fine(err)
	if len(jobs.Items) != 1 || !*jobs.Items[0].Spec.Suspend || jobs.Items[0].Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 1500 {
		t.Errorf("%+v", jobs.Items)
	}

	// Others change what is not of the record: a controller the status, people a label.
	jobs.Items[0].Status.Active = 1
	_, err = e.api.BatchV1().Jobs("home").UpdateStatus(t.Context(), &jobs.Items[0], metav1.UpdateOptions{})
	e.fine(err)
	want[0].Body = []byte(`{"id":"j1","runs":true}`)
	want[3].Body = module[:1<<20]
	for i := range want {
		e.fine(a.Put(t.Context(), want[i]))
	}
	same(want)
	parts, err := e.api.CoreV1().ConfigMaps("home").List(t.Context(), metav1.ListOptions{LabelSelector: "poise.dev/record=module"})
	e.fine(err)
	if len(parts.Items) != 3 {
		t.Errorf("%d objects of modules of 2 parts and 1", len(parts.Items))
	}
	e.fine(e.api.CoreV1().ConfigMaps("home").Delete(t.Context(), parts.Items[2].Name, metav1.DeleteOptions{}))
	want = append(want[:3:3], want[4:]...)
	same(want)
	for _, r := range want {
		e.fine(a.Drop(t.Context(), r.Kind, r.Name))
		e.fine(a.Drop(t.Context(), r.Kind, r.Name))
	}
	same(nil)
	for _, r := range want {
		e.fine(a.Put(t.Context(), r))
	}
	same(want)

	// Two that both lead, as somebody has deleted the Lease.
	e.fine(e.api.CoordinationV1().Leases("home").Delete(t.Context(), "poise", metav1.DeleteOptions{}))
	b := e.home("home", "b", time.Minute)
	e.leads(b)
	e.fine(a.Leading())
	_, err = b.Records(t.Context())
	e.fine(err)
	r := kube.Record{Kind: kube.TenantRecord, Name: "Red Team", Body: []byte(`{"by":"b"}`)}
	e.fine(b.Put(t.Context(), r))
	e.fine(a.Put(t.Context(), r))
	r.Body = []byte(`{"by":"b again"}`)
	e.fine(b.Put(t.Context(), r))
	r.Body = []byte(`{"by":"a"}`)
	if err := a.Put(t.Context(), r); poise.KindOf(err) != poise.Conflict {
		t.Errorf("over another one's write: %v", err)
	}
	e.fine(b.Drop(t.Context(), r.Kind, r.Name))
	if err := a.Put(t.Context(), r); poise.KindOf(err) != poise.Conflict {
		t.Errorf("over another one's removal: %v", err)
	}
}

// What Kubernetes takes is taken, and a byte more is refused with the limit.
func TestLargestRecords(t *testing.T) {
	e := newEstate(t, "home")
	a := e.home("home", "a", time.Minute)
	e.leads(a)
	text := func(size int) []byte { return []byte(`"` + strings.Repeat("<", size-2) + `"`) }
	f := func(kind kube.RecordKind, limit int) {
		t.Helper()
		r := kube.Record{Kind: kind, Name: "n", Body: text(limit)}
		e.fine(a.Put(t.Context(), r))
		r.Body = text(limit - 1)
		e.fine(a.Put(t.Context(), r))
		r.Body = text(limit + 1)
		err := a.Put(t.Context(), r)
		if poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), strconv.Itoa(limit+1)) && !strings.Contains(err.Error(), "262145") {
			t.Errorf("%s of %d bytes: %v", kind, limit+1, err)
		}
	}
	f(kube.TenantRecord, 1<<20)
	f(kube.SecretRecord, 1<<20)
	f(kube.JobRecord, 256<<10-len("poise.dev/record-name"+"n"+"poise.dev/job"+"poise.dev/term"+"2147483647"))
	e.fine(a.Put(t.Context(), kube.Record{Kind: kube.ModuleRecord, Name: strings.Repeat("n", 250_000), Body: text(10)}))
}

package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/poise-sched/poise/host/poise"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// steps are what is done to records: a body of nil removes one.
type step struct {
	kind RecordKind
	name string
	body []byte
}

var stepGen = rapid.Custom(func(t *rapid.T) step {
	s := step{
		kind: rapid.SampledFrom([]RecordKind{TenantRecord, TenantRecord, SecretRecord, JobRecord, JobRecord, JobRecord, ModuleRecord}).Draw(t, "kind"),
		name: rapid.OneOf(rapid.Just("a"), rapid.Just("a"), rapid.SampledFrom([]string{"", "A", "a.", "ä", strings.Repeat("long", 100)}), rapid.StringN(0, 20, -1)).Draw(t, "name"),
	}
	switch {
	case rapid.IntRange(0, 3).Draw(t, "removes") == 0:
	case s.kind == ModuleRecord:
		size := rapid.SampledFrom([]int{0, 1, 2, 3, partSize, partSize + 1}).Draw(t, "size")
		s.body = bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, size)
	default:
		text, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		s.body = text
	}
	return s
})

// Whatever is lost on the way: what was put and not removed is read as it was, and what
// is tried again until it is done is never another replica's.
func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(stepGen, 1, 20).Draw(rt, "steps")
		faulty, seed := rapid.IntRange(0, 6).Draw(rt, "faulty of ten"), rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			s := newHomeServer(t)
			random := rand.New(rand.NewPCG(seed, 0))
			l := &line{}
			h := s.leader(l, "a")
			fallible := func(r *http.Request) fault {
				if strings.Contains(r.URL.Path, "/leases/") || random.IntN(10) >= faulty {
					return fault{}
				}
				return fault{lost: random.IntN(2) == 0, mute: true}
			}
			want := map[recordKey][]byte{}
			for _, step := range steps {
				l.set(fallible)
				for {
					var err error
					if step.body == nil {
						err = h.Drop(t.Context(), step.kind, step.name)
						delete(want, recordKey{step.kind, step.name})
					} else {
						err = h.Put(t.Context(), Record{Kind: step.kind, Name: step.name, Body: step.body})
						want[recordKey{step.kind, step.name}] = step.body
					}
					if err == nil {
						break
					}
					if poise.KindOf(err) != poise.Unavailable {
						t.Errorf("%v", err)
						break
					}
					if random.IntN(3) == 0 { // it was changed meanwhile, or made anew
						step.body = fmt.Appendf(nil, "%d", random.IntN(100))
					}
				}
			}
			l.set(nil)
			checkRecords(s, h, want)
			other := s.home(&line{}, "b") // another one reads the same
			checkRecords(s, other, want)
			if n := len(s.objects) - 1; n != objectsOf(want) {
				t.Errorf("%d objects, expected %d", n, objectsOf(want))
			}
			s.end(h)
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// objectsOf gives how many objects records take.
func objectsOf(want map[recordKey][]byte) (n int) {
	for key, body := range want {
		n++
		if key.kind == ModuleRecord {
			n += max(0, len(body)-1) / partSize
		}
	}
	return n
}

func checkRecords(s *homeServer, h *Home, want map[recordKey][]byte) {
	s.Helper()
	got, err := h.Records(s.Context())
	s.fine(err)
	keys := slices.SortedFunc(maps.Keys(want), func(a, b recordKey) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	if len(got) != len(keys) {
		s.Errorf("%d records, expected %d", len(got), len(keys))
		return
	}
	for i, r := range got {
		if r.Kind != keys[i].kind || r.Name != keys[i].name || !bytes.Equal(r.Body, want[keys[i]]) || r.Created.IsZero() {
			s.Errorf("%s %q of %d bytes, expected %s %q of %d", r.Kind, r.Name, len(r.Body), keys[i].kind, keys[i].name, len(want[keys[i]]))
		}
	}
}

// Names of objects are legal, and of two names there are two.
func TestObjectNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		for _, kind := range []RecordKind{TenantRecord, SecretRecord, ModuleRecord, JobRecord} {
			name := objectName(kind, a)
			if why := validation.IsDNS1123Label(name); len(why) > 0 {
				t.Errorf("%q: %q: %v", a, name, why)
			}
			if (name == objectName(kind, b)) != (a == b) {
				t.Errorf("%q and %q: %q", a, b, name)
			}
		}
	})
	f := func(kind RecordKind, name, want string) {
		t.Helper()
		if got, _, _ := strings.Cut(objectName(kind, name), "-"+idOf(name)); got != want {
			t.Errorf("%q: %q, expected %q", name, got, want)
		}
	}
	f(TenantRecord, "red", "poise-tenant-red")
	f(TenantRecord, "Red  Team/7.", "poise-tenant-red-team-7")
	f(ModuleRecord, "sha256:0123456789abcdef0123456789abcdef", "poise-module-sha256-0123456789abcdef0")
	f(SecretRecord, "—", "poise-secret")
	f(SecretRecord, "", "poise-secret")
}

func TestPutRefuses(t *testing.T) {
	bubble(t, func(s *homeServer) {
		h := s.leader(&line{}, "a")
		f := func(r Record, want string) {
			s.Helper()
			s.requests()
			err := h.Put(s.Context(), r)
			if poise.KindOf(err) != poise.Invalid || !strings.Contains(err.Error(), want) || len(s.requests()) > 0 {
				s.Errorf("%v, expected %q", err, want)
			}
		}
		text := func(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }
		f(Record{Kind: "other", Body: []byte("1")}, `kind: "other", expected tenant, secret, module or job`)
		f(Record{Kind: TenantRecord, Body: []byte("{")}, "body: expected JSON in UTF-8")
		f(Record{Kind: TenantRecord, Body: []byte("\"\xff\"")}, "body: expected JSON in UTF-8")
		f(Record{Kind: TenantRecord, Name: "\xff", Body: []byte("1")}, "name: expected UTF-8")
		f(Record{Kind: TenantRecord, Body: text(1<<20 + 1)}, "body: 1048577 bytes, expected 1048576 at the most: that is what Kubernetes takes")
		f(Record{Kind: SecretRecord, Body: text(1<<20 + 1)}, "expected 1048576 at the most")
		f(Record{Kind: JobRecord, Name: "n", Body: text(256 << 10)}, "its annotations would take 262203 bytes, expected 262144 at the most")
		f(Record{Kind: ModuleRecord, Name: strings.Repeat("n", 256<<10)}, "expected 262144 at the most")
		if err := h.Drop(s.Context(), "other", ""); poise.KindOf(err) != poise.Invalid {
			s.Errorf("%v", err)
		}
		s.end(h)
		for _, err := range []error{h.Put(s.Context(), Record{Kind: TenantRecord, Body: []byte("1")}), h.Drop(s.Context(), TenantRecord, "n"), h.Mark(s.Context())} {
			if poise.KindOf(err) != poise.Unavailable && err != nil {
				s.Errorf("%v", err)
			}
		}
	})
}

// A list that got too old between two pages is read anew; objects that are no records
// are left alone, and a module that lacks a part is removed by the one who leads.
func TestRecordsOfATroubledHome(t *testing.T) {
	bubble(t, func(s *homeServer) {
		var l line
		h := s.leader(&l, "a")
		want := map[recordKey][]byte{}
		put := func(kind RecordKind, name string, body []byte) {
			s.Helper()
			s.fine(h.Put(s.Context(), Record{Kind: kind, Name: name, Body: body}))
			want[recordKey{kind, name}] = body
		}
		for i := range 9 {
			put(ModuleRecord, fmt.Sprintf("m%d", i), []byte{byte(i)})
		}
		put(ModuleRecord, "m3", make([]byte, 2*partSize))
		put(TenantRecord, "red", []byte("{}"))
		aged := 2
		l.set(func(r *http.Request) fault {
			if r.URL.Query().Get("continue") != "" && aged > 0 {
				aged--
				return fault{answer: refuse(http.StatusGone, metav1.StatusReasonExpired, "too old")}
			}
			return fault{}
		})
		checkRecords(s, h, want)
		if aged != 0 {
			s.Error("there was one page")
		}

		const maps = "/api/v1/namespaces/home/configmaps/"
		copied := merged(s.objects[maps+objectName(TenantRecord, "red")], map[string]any{"metadata": map[string]any{"name": "copy"}}).(map[string]any)
		s.put(maps+"copy", nil, copied)
		bare := merged(copied, map[string]any{"metadata": map[string]any{"name": "bare", "annotations": nil}, "data": nil}).(map[string]any)
		s.put(maps+"bare", nil, bare)
		delete(want, recordKey{ModuleRecord, "m3"})
		for path := range s.objects {
			if strings.HasPrefix(path, maps+objectName(ModuleRecord, "m3")+"-") {
				delete(s.objects, path)
			}
		}
		checkRecords(s, s.home(&line{}, "b"), want)
		if s.objects[maps+objectName(ModuleRecord, "m3")] == nil {
			s.Error("one who does not lead removed something")
		}
		checkRecords(s, h, want)
		if s.objects[maps+objectName(ModuleRecord, "m3")] != nil || s.objects[maps+"copy"] == nil || s.objects[maps+"bare"] == nil {
			s.Error("a part of no module stays, or something else does not")
		}

		l.set(func(r *http.Request) fault {
			if strings.HasSuffix(r.URL.Path, "/secrets") {
				return fault{answer: refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "no right to list secrets")}
			}
			return fault{}
		})
		if _, err := h.Records(s.Context()); poise.KindOf(err) != poise.Unavailable || !strings.Contains(err.Error(), "no right to list secrets") {
			s.Errorf("%v", err)
		}
		s.end(h)
	})
}

// A call costs as much as it should: one request for a record that is written, one for
// one that is removed.
func TestRequestsOfARecord(t *testing.T) {
	bubble(t, func(s *homeServer) {
		h := s.leader(&line{}, "a")
		f := func(want int, err error) {
			s.Helper()
			s.fine(err)
			if got := s.requests(); len(got) != want {
				s.Errorf("%q, expected %d requests", got, want)
			}
		}
		s.requests()
		for range 3 {
			f(1, h.Put(s.Context(), Record{Kind: JobRecord, Name: "j", Body: []byte("1")}))
		}
		f(1, h.Drop(s.Context(), JobRecord, "j"))
		f(2, h.Put(s.Context(), Record{Kind: ModuleRecord, Name: "m", Body: make([]byte, partSize+1)}))
		s.end(h)
	})
}

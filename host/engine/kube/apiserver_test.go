package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer answers as an API server does, as far as this package asks: lists,
// watches from a version on with bookmarks, bindings, evictions and patches of a
// status, in protobuf. It is a transport, so that it lives in a bubble of virtual
// time.
type apiServer struct {
	t *testing.T

	mu       sync.Mutex
	version  int
	oldest   int // versions before are forgotten
	objects  map[string]map[string]metav1.Object
	events   []event
	changed  chan struct{} // closed at the next change
	streams  chan struct{} // closed when all watches end
	down     error         // what every request fails with
	slow     time.Duration
	mute     bool           // a binding is taken and never answered
	instead  *http.Response // answers the next binding, which is not taken
	blind    bool           // a look at a pod is not answered
	writes   []string       // method and path
	budgeted bool           // no eviction is allowed
	deaf     bool           // watches hear of nothing

	happened map[string]*eventsv1.Event // events, by name
}

type event struct {
	version  int
	resource string
	kind     string
	object   []byte // in protobuf
	labels   map[string]string
}

func newAPIServer(t *testing.T) *apiServer {
	return &apiServer{
		t: t, version: 10, objects: map[string]map[string]metav1.Object{"pods": {}, "nodes": {}, "namespaces": {}},
		changed: make(chan struct{}), streams: make(chan struct{}), happened: map[string]*eventsv1.Event{},
	}
}

func key(o metav1.Object) string { return strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/") }

func resourceOf(o metav1.Object) string {
	switch o.(type) {
	case *v1.Pod:
		return "pods"
	case *v1.Node:
		return "nodes"
	}
	return "namespaces"
}

// put creates or replaces objects.
func (s *apiServer) put(objects ...metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		kind := "MODIFIED"
		if s.objects[resourceOf(o)][key(o)] == nil {
			kind = "ADDED"
		}
		s.note(kind, o)
		s.objects[resourceOf(o)][key(o)] = o
	}
}

// remove deletes objects.
func (s *apiServer) remove(objects ...metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.note("DELETED", o)
		delete(s.objects[resourceOf(o)], key(o))
	}
}

// change changes a pod.
func (s *apiServer) change(name string, f func(*v1.Pod)) {
	s.mu.Lock()
	p := s.objects["pods"][name].(*v1.Pod).DeepCopy()
	s.mu.Unlock()
	f(p)
	s.put(p)
}

// read gives a pod.
func (s *apiServer) read(name string) *v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.objects["pods"][name].(*v1.Pod)
	return p
}

func (s *apiServer) note(kind string, o metav1.Object) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.events = append(s.events, event{s.version, resourceOf(o), kind, s.proto(o.(runtime.Object)), o.GetLabels()})
	close(s.changed)
	s.changed = make(chan struct{})
}

// encode gives an object as JSON with its kind.
func (s *apiServer) encode(o metav1.Object) json.RawMessage {
	object := o.(runtime.Object).DeepCopyObject()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	body, err := json.Marshal(object)
	if err != nil {
		s.t.Error(err)
	}
	return body
}

// proto gives an object in protobuf with its kind.
func (s *apiServer) proto(o runtime.Object) []byte {
	body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(protobufOf().Serializer, v1.SchemeGroupVersion), o)
	if err != nil {
		s.t.Error(err)
	}
	return body
}

func protobufOf() runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return info
}

// forget makes all watches end and has no version from before any more.
func (s *apiServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.oldest = s.version
	s.events = nil
	s.cut()
}

func (s *apiServer) cut() {
	close(s.streams)
	s.streams = make(chan struct{})
}

// fail makes all watches end and every request fail, until it is called with nil.
func (s *apiServer) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
	s.cut()
}

func (s *apiServer) set(f func(*apiServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// wrote gives the writes, but for those of events.
func (s *apiServer) wrote() []string {
	return slices.DeleteFunc(s.allWrites(), func(w string) bool { return strings.Contains(w, " of ") })
}

func (s *apiServer) allWrites() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

func answer(code int, body []byte) *http.Response {
	kind := runtime.ContentTypeJSON
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		kind = runtime.ContentTypeProtobuf
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body))}
}

func refuse(code int, reason metav1.StatusReason, text string) *http.Response {
	body, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Message: text, Code: int32(code),
	})
	return answer(code, body)
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	down, slow := s.down, s.slow
	s.mu.Unlock()
	if down != nil {
		return nil, down
	}
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if at, of := strings.CutPrefix(r.URL.Path, "/apis/events.k8s.io/v1/namespaces/s/events"); of {
		return s.eventRequest(r, strings.TrimPrefix(at, "/"))
	}
	path := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/"), "/")
	switch {
	case r.Method == http.MethodGet && len(path) == 1 && r.URL.Query().Get("watch") != "":
		return s.watch(r, path[0])
	case r.Method == http.MethodGet && len(path) == 1:
		return s.list(r, path[0])
	case r.Method == http.MethodPost && len(path) == 3 && path[2] == "pods":
		return s.create(r, path[1])
	case len(path) >= 4 && path[2] == "pods":
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
		}
		return s.podRequest(r, path[1]+"/"+path[3], path[4:], body)
	}
	return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, r.URL.Path), nil
}

func (s *apiServer) podRequest(r *http.Request, name string, sub []string, body []byte) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	p, _ := s.objects["pods"][name].(*v1.Pod)
	if p == nil {
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, name), nil
	}
	p = p.DeepCopy()
	switch what := r.Method + " " + strings.Join(sub, "/"); what {
	case "GET ":
		if s.blind {
			return nil, errors.New("connection reset by peer")
		}
		return answer(http.StatusOK, s.proto(p)), nil
	case "GET log":
		return answer(http.StatusOK, []byte(r.URL.RawQuery+"\n")), nil
	case "POST binding":
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		if other := s.instead; other != nil {
			s.instead = nil
			return other, nil
		}
		b := object.(*v1.Binding)
		if b.UID != p.UID || p.Spec.NodeName != "" || p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict, "uid, assigned, deleting or gated"), nil
		}
		p.Spec.NodeName = b.Target.Name
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		maps.Copy(p.Annotations, b.Annotations)
		s.note("MODIFIED", p)
		s.objects["pods"][name] = p
		if s.mute {
			return nil, errors.New("connection reset by peer")
		}
		return answer(http.StatusCreated, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success","code":201}`)), nil
	case "POST eviction":
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		e := object.(*policyv1.Eviction)
		if s.budgeted {
			status, _ := json.Marshal(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusTooManyRequests,
				Reason:  metav1.StatusReasonTooManyRequests,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}},
			})
			return answer(http.StatusTooManyRequests, status), nil
		}
		if *e.DeleteOptions.Preconditions.UID != p.UID {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict, "uid"), nil
		}
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), e.DeleteOptions.GracePeriodSeconds
		s.note("MODIFIED", p)
		s.objects["pods"][name] = p
		return answer(http.StatusCreated, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success","code":201}`)), nil
	case "PATCH status":
		var of struct{ Metadata struct{ UID types.UID } }
		if err := json.Unmarshal(body, &of); err != nil {
			return nil, err
		}
		if of.Metadata.UID != p.UID {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict, "uid"), nil
		}
		patched, err := strategicpatch.StrategicMergePatch(s.encode(p), body, v1.Pod{})
		if err != nil {
			return nil, err
		}
		var now v1.Pod
		if err := json.Unmarshal(patched, &now); err != nil {
			return nil, err
		}
		s.note("MODIFIED", &now)
		s.objects["pods"][name] = &now
		return answer(http.StatusOK, s.proto(&now)), nil
	default:
		return refuse(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, what), nil
	}
}

// eventRequest makes an event, or changes one by a merge.
func (s *apiServer) eventRequest(r *http.Request, name string) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	if r.Method == http.MethodPost {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		e := object.(*eventsv1.Event)
		s.writes = append(s.writes, "POST "+e.Reason+" of "+e.Regarding.Name)
		s.happened[e.Name] = e
		return answer(http.StatusCreated, done), nil
	}
	e := s.happened[name]
	if e == nil {
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, name), nil
	}
	s.writes = append(s.writes, r.Method+" "+e.Reason+" of "+e.Regarding.Name)
	return answer(http.StatusOK, done), json.Unmarshal(body, e)
}

// eventsNow gives all events, in words.
func (s *apiServer) eventsNow() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.happened {
		n := int32(1)
		if e.Series != nil {
			n = e.Series.Count
		}
		all = append(all, fmt.Sprintf("%s %s of %s %d times: %s", e.Type, e.Reason, e.Regarding.Name, n, e.Note))
	}
	slices.Sort(all)
	return all
}

// create makes a pod, whose uid is its name behind "u-".
func (s *apiServer) create(r *http.Request, space string) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	p := object.(*v1.Pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	if s.objects["pods"][key(p)] != nil {
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, p.Name), nil
	}
	p.UID, p.Status.Phase = types.UID("u-"+p.Name), v1.PodPending
	s.note("ADDED", p)
	s.objects["pods"][space+"/"+p.Name] = p
	if s.mute {
		return nil, errors.New("connection reset by peer")
	}
	return answer(http.StatusCreated, s.proto(p)), nil
}

func (s *apiServer) list(r *http.Request, resource string) (*http.Response, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := map[string]runtime.Object{"pods": &v1.PodList{}, "nodes": &v1.NodeList{}, "namespaces": &v1.NamespaceList{}}
	list := lists[resource]
	list.(metav1.ListInterface).SetResourceVersion(strconv.Itoa(s.version))
	var items []runtime.Object
	for _, name := range slices.Sorted(maps.Keys(s.objects[resource])) {
		if o := s.objects[resource][name]; selector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o.(runtime.Object))
		}
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	return answer(http.StatusOK, s.proto(list)), nil
}

// watch streams changes, for a watch that asks for it after all that is there and a
// bookmark.
func (s *apiServer) watch(r *http.Request, resource string) (*http.Response, error) {
	q := r.URL.Query()
	selector, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(q.Get("resourceVersion"))
	s.mu.Lock()
	defer s.mu.Unlock()
	var first []event
	if q.Get("sendInitialEvents") == "true" {
		for _, name := range slices.Sorted(maps.Keys(s.objects[resource])) {
			if o := s.objects[resource][name]; selector.Matches(labels.Set(o.GetLabels())) {
				first = append(first, event{kind: "ADDED", object: s.proto(o.(runtime.Object))})
			}
		}
		kinds := map[string]runtime.Object{"pods": &v1.Pod{}, "nodes": &v1.Node{}, "namespaces": &v1.Namespace{}}
		mark := kinds[resource].(metav1.Object)
		mark.SetResourceVersion(strconv.Itoa(s.version))
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		first = append(first, event{kind: "BOOKMARK", object: s.proto(mark.(runtime.Object))})
		from = s.version
	} else if from < s.oldest {
		return refuse(http.StatusGone, metav1.StatusReasonExpired, "too old resource version"), nil
	}
	body, out := io.Pipe()
	streams := s.streams
	ctx := r.Context()
	go func() {
		<-ctx.Done()
		_ = body.CloseWithError(ctx.Err())
	}()
	go func() {
		defer out.Close()
		info := protobufOf().StreamSerializer
		encoder := scheme.Codecs.EncoderForVersion(info.Serializer, v1.SchemeGroupVersion)
		frames := info.Framer.NewFrameWriter(out)
		events := first
		for {
			for _, e := range events {
				body, err := runtime.Encode(encoder, &metav1.WatchEvent{Type: e.kind, Object: runtime.RawExtension{Raw: e.object}})
				if err != nil {
					s.t.Error(err)
				}
				if _, err := frames.Write(body); err != nil {
					return
				}
			}
			events = nil
			s.mu.Lock()
			changed := s.changed
			for _, e := range s.events {
				if e.version > from && e.resource == resource && selector.Matches(labels.Set(e.labels)) {
					events = append(events, e)
				}
			}
			from = max(from, s.version)
			if s.deaf {
				events = nil
			}
			s.mu.Unlock()
			if len(events) > 0 {
				continue
			}
			select {
			case <-changed:
			case <-streams:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	response := answer(http.StatusOK, nil)
	response.Header.Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	response.Body = body
	return response, nil
}

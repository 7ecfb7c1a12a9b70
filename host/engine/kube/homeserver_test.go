package kube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// homeServer answers as an API server does, as far as a home asks: it has objects of
// any kind, with versions that are preconditions, merge patches and pages. Each replica
// reaches it by a line of its own.
type homeServer struct {
	*testing.T

	mu      sync.Mutex
	version int
	objects map[string]map[string]any // by path
	asked   []string                  // method and path
}

func newHomeServer(t *testing.T) *homeServer {
	return &homeServer{T: t, objects: map[string]map[string]any{}}
}

// line is the way of one replica to the server.
type line struct {
	server *homeServer

	mu sync.Mutex
	// fault says what becomes of a request; nil = it is answered at once.
	fault func(*http.Request) fault
}

// set changes what becomes of requests.
func (l *line) set(f func(*http.Request) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// fault is what becomes of a request.
type fault struct {
	before time.Duration  // until it arrives
	lost   bool           // it does not arrive
	after  time.Duration  // until the answer is there
	mute   bool           // there is none
	answer *http.Response // instead of the server's
}

// RoundTrip implements http.RoundTripper. What was sent arrives, also when nobody waits
// for the answer any more.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	of := l.fault
	l.mu.Unlock()
	var f fault
	if of != nil {
		f = of(r)
	}
	if f.answer != nil {
		return f.answer, nil
	}
	answered := make(chan *http.Response, 1)
	go func() {
		time.Sleep(f.before)
		if f.lost {
			close(answered)
			return
		}
		a := l.server.answer(r, body)
		time.Sleep(f.after)
		if f.mute {
			close(answered)
			return
		}
		answered <- a
	}()
	select {
	case a, ok := <-answered:
		if !ok {
			return nil, errors.New("connection reset by peer")
		}
		return a, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// answer does what is asked.
func (s *homeServer) answer(r *http.Request, body []byte) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.Path
	s.asked = append(s.asked, r.Method+" "+path)
	was := s.objects[path]
	missing := refuse(http.StatusNotFound, metav1.StatusReasonNotFound, path)
	switch r.Method {
	case http.MethodGet:
		if parts := strings.Split(path, "/namespaces/"); strings.Count(parts[len(parts)-1], "/") == 1 {
			return s.page(r)
		}
		if was == nil {
			return missing
		}
		return s.give(http.StatusOK, was)
	case http.MethodDelete:
		if was == nil {
			return missing
		}
		delete(s.objects, path)
		return answer(http.StatusOK, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	case http.MethodPatch:
		if was == nil {
			return missing
		}
		var patch map[string]any
		if err := json.Unmarshal(body, &patch); err != nil {
			s.Error(err)
		}
		return s.put(path, was, merged(was, patch).(map[string]any))
	}
	typed, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		s.Error(err)
	}
	text, err := json.Marshal(typed)
	if err != nil {
		s.Error(err)
	}
	now := map[string]any{}
	if err := json.Unmarshal(text, &now); err != nil {
		s.Error(err)
	}
	now["apiVersion"], now["kind"] = kind.GroupVersion().String(), kind.Kind
	if r.Method == http.MethodPut {
		if was == nil {
			return missing
		}
		return s.put(path, was, now)
	}
	meta := metaOf(now)
	if strings.HasSuffix(path, "/binding") {
		return missing
	}
	path += "/" + meta["name"].(string)
	if s.objects[path] != nil {
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists, path)
	}
	s.version++
	meta["uid"], meta["creationTimestamp"] = strconv.Itoa(s.version), time.Now().UTC().Format(time.RFC3339)
	return s.put(path, nil, now)
}

func metaOf(o map[string]any) map[string]any { return o["metadata"].(map[string]any) }

// put stores an object whose version, where it has one, is that of before.
func (s *homeServer) put(path string, was, now map[string]any) *http.Response {
	meta := metaOf(now)
	if was != nil {
		if v := meta["resourceVersion"]; v != nil && v != "" && v != metaOf(was)["resourceVersion"] {
			return refuse(http.StatusConflict, metav1.StatusReasonConflict, path+" has changed")
		}
		meta["uid"], meta["creationTimestamp"] = metaOf(was)["uid"], metaOf(was)["creationTimestamp"]
	}
	s.version++
	meta["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = now
	return s.give(http.StatusOK, now)
}

func (s *homeServer) give(code int, o any) *http.Response {
	text, err := json.Marshal(o)
	if err != nil {
		s.Error(err)
	}
	return answer(code, text)
}

// page lists what a selector takes; where a list goes on says the name of its next item.
func (s *homeServer) page(r *http.Request) *http.Response {
	q := r.URL.Query()
	selector, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		s.Error(err)
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	var items []any
	more := ""
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(path, r.URL.Path+"/") || path < q.Get("continue") {
			continue
		}
		of := labels.Set{}
		if have, has := metaOf(s.objects[path])["labels"].(map[string]any); has {
			for key, value := range have {
				of[key] = value.(string)
			}
		}
		if !selector.Matches(of) {
			continue
		}
		if limit > 0 && len(items) == limit {
			more = path
			break
		}
		items = append(items, s.objects[path])
	}
	kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "jobs": "Job", "pods": "Pod"}[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]
	version := "v1"
	if kind == "Job" {
		version = "batch/v1"
	}
	return s.give(http.StatusOK, map[string]any{
		"apiVersion": version, "kind": kind + "List", "items": items, "metadata": map[string]any{"continue": more, "resourceVersion": strconv.Itoa(s.version)},
	})
}

// merged is RFC 7396.
func merged(was, patch any) any {
	p, object := patch.(map[string]any)
	if !object {
		return patch
	}
	w, _ := was.(map[string]any)
	now := maps.Clone(w)
	if now == nil {
		now = map[string]any{}
	}
	for key, value := range p {
		if value == nil {
			delete(now, key)
		} else {
			now[key] = merged(now[key], value)
		}
	}
	return now
}

// requests gives what was asked since the last call.
func (s *homeServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// home opens one on a line, in the time of the bubble.
func (s *homeServer) home(l *line, identity string, change ...func(*HomeOptions)) *Home {
	s.Helper()
	l.server = s
	start := time.Now()
	o := HomeOptions{
		Namespace: "home", Identity: identity, Lease: 15 * time.Second, Log: slog.New(slog.DiscardHandler),
		config: &rest.Config{Host: "http://api", Transport: l},
		clock:  func() time.Duration { return time.Since(start) },
	}
	for _, c := range change {
		c(&o)
	}
	h, err := OpenHome(o)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// leader is a home that leads until the test ends.
func (s *homeServer) leader(l *line, identity string, change ...func(*HomeOptions)) *Home {
	s.Helper()
	h := s.home(l, identity, change...)
	if _, err := h.Lead(s.Context()); err != nil {
		s.Fatal(err)
	}
	return h
}

func (s *homeServer) fine(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// end has homes give up the lead.
func (s *homeServer) end(all ...*Home) {
	s.Helper()
	for _, h := range all {
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		if err := h.Resign(ctx); err != nil {
			s.Error(err)
		}
		cancel()
	}
}

package kube

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RecordKind says what a record is of, and with it which objects it is kept in.
type RecordKind string

// The kinds of records.
const (
	TenantRecord RecordKind = "tenant" // a ConfigMap
	SecretRecord RecordKind = "secret" // a Secret
	ModuleRecord RecordKind = "module" // ConfigMaps, each with a part of it
	JobRecord    RecordKind = "job"    // a suspended Job
)

// Record is something of a daemon that survives it.
type Record struct {
	Kind    RecordKind
	Name    string       // any text in UTF-8
	Body    []byte       // JSON; of a module its bytes
	Job     *JobTemplate // of a JobRecord that is put, may be nil
	Created time.Time    // of a record that was read, in whole seconds
}

// JobTemplate is what the object of a JobRecord shows to whoever reads it with
// kubectl. It is that of when the record was made; Poise reads the body alone.
type JobTemplate struct {
	Image      string // "" = none
	Command    []string
	Amounts    resource.List // base units
	Devices    int
	DeviceKind string
	Labels     map[string]string
}

type recordKey struct {
	kind RecordKind
	name string
}

// known is what this Home knows of a record: the version that it last saw, and what
// the body may be without anybody else having written it.
type known struct {
	version string   // of the resource, "" = not there
	bodies  []digest // the one that was seen, and those that were sent since
	dropped bool     // a removal was sent since
}

type digest = [sha256.Size]byte

// Records gives all records, by kind and name. A module of which a part is missing is
// not there; the one who leads removes what is left of it.
func (h *Home) Records(ctx context.Context) ([]Record, error) {
	h.records.Lock()
	defer h.records.Unlock()
	var all []Record
	now := map[recordKey]known{}
	for _, kind := range []RecordKind{JobRecord, ModuleRecord, SecretRecord, TenantRecord} {
		objects, err := h.listed(ctx, kind, recordLabel+"="+string(kind))
		if err != nil {
			return nil, failed("read the records of the home cluster", err)
		}
		if kind == ModuleRecord {
			objects = h.whole(ctx, objects)
		}
		for _, o := range objects {
			r, err := h.recordOf(kind, o)
			if err != nil {
				h.log.Warn("an object of the home cluster is no record", "kind", kind, "object", o.GetName(), "error", err)
				continue
			}
			now[recordKey{kind, r.Name}] = known{version: o.GetResourceVersion(), bodies: []digest{sha256.Sum256(r.Body)}}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Record) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	h.mu.Lock()
	h.known = now
	h.mu.Unlock()
	return all, nil
}

// Put creates or replaces a record. What another replica has written, or removed, since
// this Home last saw it is a Conflict, until Records is asked again; a second Put of
// what is there already is not. One Put or Drop of a record may run at a time.
func (h *Home) Put(ctx context.Context, r Record) error {
	op := fmt.Sprintf("keep %s %q", r.Kind, r.Name)
	if err := h.Leading(); err != nil {
		return err
	}
	if err := r.check(op); err != nil {
		return err
	}
	h.records.RLock()
	defer h.records.RUnlock()
	if r.Kind == ModuleRecord {
		return h.putModule(ctx, op, &r)
	}
	return h.put(ctx, op, &r, h.object(&r))
}

// check refuses what Kubernetes does not take, or would not give back as it was.
func (r *Record) check(op string) error {
	refuse := func(why string, of ...any) error {
		return &poise.Error{Kind: poise.Invalid, Op: op, Detail: fmt.Sprintf(why, of...)}
	}
	if _, err := shelfOf(r.Kind); err != nil {
		return refuse("%v", err)
	}
	if !utf8.ValidString(r.Name) {
		return refuse("name: expected UTF-8")
	}
	if r.Kind != ModuleRecord && (!json.Valid(r.Body) || !utf8.Valid(r.Body)) {
		return refuse("body: expected JSON in UTF-8")
	}
	if size := len(r.Name) + r.noteSize(); size > noteLimit {
		return refuse("its annotations would take %d bytes, expected %d at the most: that is what Kubernetes takes", size, noteLimit)
	}
	if r.Kind != ModuleRecord && len(r.Body) > objectLimit {
		return refuse("body: %d bytes, expected %d at the most: that is what Kubernetes takes", len(r.Body), objectLimit)
	}
	return nil
}

// put writes the object of a record, of a module that of its first part.
func (h *Home) put(ctx context.Context, op string, r *Record, o object) error {
	key, want := recordKey{r.Kind, r.Name}, sha256.Sum256(r.Body)
	h.mu.Lock()
	k := h.known[key]
	if !slices.Contains(k.bodies, want) {
		k.bodies = append(slices.Clone(k.bodies), want)
		h.known[key] = k
	}
	h.mu.Unlock()
	changed := &poise.Error{Kind: poise.Conflict, Op: op, Detail: "another replica has changed it"}
	version := k.version
	for range 5 {
		now, err := h.write(ctx, r.Kind, o, version)
		switch {
		case err == nil:
			h.know(key, now, want)
			return nil
		case apierrors.IsNotFound(err) && version != "" && k.dropped:
			version = ""
			continue
		case apierrors.IsNotFound(err) && version != "":
			return changed
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return failed(op, err)
		}
		there, err := h.read(ctx, r.Kind, o.GetName())
		if apierrors.IsNotFound(err) {
			version = ""
			continue
		}
		if err != nil {
			return failed(op, err)
		}
		switch body := bodyDigest(r.Kind, there); {
		case there.GetAnnotations()[nameNote] != r.Name:
			return changed
		case body == want:
			h.know(key, there, want)
			return nil
		case !slices.Contains(k.bodies, body):
			return changed
		}
		version = there.GetResourceVersion() // its body is as it was: a status, or a write of before
	}
	return &poise.Error{Kind: poise.Unavailable, Op: op, Detail: "it changes too often"}
}

// know notes a record as it was seen.
func (h *Home) know(key recordKey, o metav1.Object, body digest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[key] = known{version: o.GetResourceVersion(), bodies: []digest{body}}
}

// Drop removes a record; one that is not there is no error.
func (h *Home) Drop(ctx context.Context, kind RecordKind, name string) error {
	op := fmt.Sprintf("remove %s %q", kind, name)
	if err := h.Leading(); err != nil {
		return err
	}
	if _, err := shelfOf(kind); err != nil {
		return &poise.Error{Kind: poise.Invalid, Op: op, Err: err}
	}
	h.records.RLock()
	defer h.records.RUnlock()
	key := recordKey{kind, name}
	h.mu.Lock()
	if k, there := h.known[key]; there {
		k.dropped = true
		h.known[key] = k
	}
	h.mu.Unlock()
	err := h.remove(ctx, kind, objectName(kind, name))
	if err == nil && kind == ModuleRecord {
		err = h.sweep(ctx, name, "")
	}
	if err != nil {
		return failed(op, err)
	}
	h.mu.Lock()
	delete(h.known, key)
	h.mu.Unlock()
	return nil
}

// recordOf reads a record from its object.
func (h *Home) recordOf(kind RecordKind, o object) (Record, error) {
	name, has := o.GetAnnotations()[nameNote]
	if !has || objectName(kind, name) != o.GetName() {
		return Record{}, fmt.Errorf("annotation %s: %q, expected the name that the object is called after", nameNote, name)
	}
	body, has := bodyOf(o)
	if !has {
		return Record{}, fmt.Errorf("no body")
	}
	return Record{Kind: kind, Name: name, Body: bytes.Clone(body), Created: o.GetCreationTimestamp().Time}, nil
}

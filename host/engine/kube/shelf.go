package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Labels and annotations of the objects of records, and where their body is.
const (
	recordLabel = mark + "record"    // kind
	idLabel     = mark + "record-id" // hash of the name, that of all parts of a module
	nameNote    = mark + "record-name"
	bodyNote    = mark + "job" // of a Job
	bodyKey     = "record"     // of a ConfigMap and a Secret
)

// What Kubernetes takes, in bytes: keys and values of all annotations of an object,
// and the data of a ConfigMap or a Secret.
const (
	noteLimit   = 256 << 10
	objectLimit = 1 << 20
)

// object is one of the home cluster.
type object interface {
	metav1.Object
	runtime.Object
}

// shelf is where records of a kind are.
type shelf struct {
	resource string
	page     int64 // objects of one answer
	object   func() object
	list     func() runtime.Object
}

func shelfOf(kind RecordKind) (shelf, error) {
	configMap, configMaps := func() object { return &v1.ConfigMap{} }, func() runtime.Object { return &v1.ConfigMapList{} }
	switch kind {
	case TenantRecord:
		return shelf{"configmaps", 200, configMap, configMaps}, nil
	case ModuleRecord:
		return shelf{"configmaps", 8, configMap, configMaps}, nil
	case SecretRecord:
		return shelf{"secrets", 200, func() object { return &v1.Secret{} }, func() runtime.Object { return &v1.SecretList{} }}, nil
	case JobRecord:
		return shelf{"jobs", 500, func() object { return &batchv1.Job{} }, func() runtime.Object { return &batchv1.JobList{} }}, nil
	}
	return shelf{}, fmt.Errorf("kind: %q, expected tenant, secret, module or job", kind)
}

// at gives the client of a kind, and its shelf; the kind is known.
func (h *Home) at(kind RecordKind) (rest.Interface, shelf) {
	s, err := shelfOf(kind)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if kind == JobRecord {
		return h.client.jobs, s
	}
	return h.client.rest, s
}

// listed gives the objects of a kind that a selector takes, a page at a time. Pages that got too old while
// they were read are read anew.
func (h *Home) listed(ctx context.Context, kind RecordKind, selector string) ([]object, error) {
	c, s := h.at(kind)
	var all []object
	o := metav1.ListOptions{LabelSelector: selector, Limit: s.page}
	for tries := 0; ; {
		page, err := func() (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			page := s.list()
			return page, c.Get().Namespace(h.namespace).Resource(s.resource).VersionedParams(&o, h.client.parameters).Do(ctx).Into(page)
		}()
		if apierrors.IsResourceExpired(err) && tries < 5 {
			tries++
			o.Continue, all = "", nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := meta.EachListItem(page, func(item runtime.Object) error {
			all = append(all, item.(object))
			return nil
		}); err != nil {
			return nil, err
		}
		more, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		if o.Continue = more.GetContinue(); o.Continue == "" {
			return all, nil
		}
	}
}

func (h *Home) read(ctx context.Context, kind RecordKind, name string) (object, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, s := h.at(kind)
	o := s.object()
	return o, c.Get().Namespace(h.namespace).Resource(s.resource).Name(name).Do(ctx).Into(o)
}

// write creates an object, or replaces what a record has in it where a version is
// given: a Job's template stays as it is, as Kubernetes demands.
func (h *Home) write(ctx context.Context, kind RecordKind, o object, version string) (object, error) {
	ctx, cancel := h.client.write(ctx)
	defer cancel()
	c, s := h.at(kind)
	now := s.object()
	if version == "" {
		return now, c.Post().Namespace(h.namespace).Resource(s.resource).Body(o).Do(ctx).Into(now)
	}
	patch, err := patchOf(o, version)
	if err != nil {
		return nil, err
	}
	return now, c.Patch(types.MergePatchType).Namespace(h.namespace).Resource(s.resource).Name(o.GetName()).Body(patch).Do(ctx).Into(now)
}

// patchOf gives a merge patch that has the record of an object replace that of one
// version.
func patchOf(o object, version string) ([]byte, error) {
	patch := struct {
		Metadata struct {
			ResourceVersion string            `json:"resourceVersion"`
			Labels          map[string]string `json:"labels"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
		Data       any               `json:"data,omitempty"`
		BinaryData map[string][]byte `json:"binaryData,omitempty"`
	}{}
	patch.Metadata.ResourceVersion, patch.Metadata.Labels, patch.Metadata.Annotations = version, o.GetLabels(), o.GetAnnotations()
	switch o := o.(type) {
	case *v1.ConfigMap:
		patch.BinaryData = o.BinaryData
		if len(o.Data) > 0 {
			patch.Data = o.Data
		}
	case *v1.Secret:
		patch.Data = o.Data
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it would make some texts six times as long
	err := encoder.Encode(&patch)
	return text.Bytes(), err
}

// remove deletes an object; one that is not there is no error.
func (h *Home) remove(ctx context.Context, kind RecordKind, name string) error {
	ctx, cancel := h.client.write(ctx)
	defer cancel()
	c, s := h.at(kind)
	background := metav1.DeletePropagationBackground
	err := c.Delete().Namespace(h.namespace).Resource(s.resource).Name(name).Body(&metav1.DeleteOptions{PropagationPolicy: &background}).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// idOf gives the first 96 bits of the SHA-256 of a name, in hexadecimal: it can be in
// the name and in a label of an object.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// objectName gives the name of a record's object: what can be read of its name, then
// its hash. It has at most 63 characters, as the name of a Job must.
func objectName(kind RecordKind, name string) string {
	var readable strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			readable.WriteRune(r)
		} else if text := readable.String(); text != "" && !strings.HasSuffix(text, "-") {
			readable.WriteByte('-')
		}
		if readable.Len() == 24 {
			break
		}
	}
	parts := []string{"poise", string(kind)}
	if text := strings.Trim(readable.String(), "-"); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(append(parts, idOf(name)), "-")
}

// object gives the object of a record that is no module.
func (h *Home) object(r *Record) object {
	m := h.meta(r)
	switch r.Kind {
	case TenantRecord:
		return &v1.ConfigMap{ObjectMeta: m, Data: map[string]string{bodyKey: string(r.Body)}}
	case SecretRecord:
		return &v1.Secret{ObjectMeta: m, Type: mark + "record", Data: map[string][]byte{bodyKey: r.Body}}
	}
	m.Annotations[bodyNote] = string(r.Body)
	return jobObject(m, r.Job)
}

func (h *Home) meta(r *Record) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: h.namespace, Name: objectName(r.Kind, r.Name),
		Labels:      map[string]string{recordLabel: string(r.Kind), idLabel: idOf(r.Name)},
		Annotations: map[string]string{nameNote: r.Name, termNote: strconv.FormatInt(h.Term(), 10)},
	}
}

// noteSize gives the bytes of a record's annotations beside its name.
func (r *Record) noteSize() int {
	const always = len(nameNote) + len(termNote) + len("2147483647")
	switch r.Kind {
	case JobRecord:
		return always + len(bodyNote) + len(r.Body)
	case ModuleRecord:
		return always + partNotes
	}
	return always
}

// bodyOf gives the body of a record that an object has.
func bodyOf(o object) ([]byte, bool) {
	switch o := o.(type) {
	case *v1.ConfigMap:
		if text, has := o.Data[bodyKey]; has {
			return []byte(text), true
		}
		body, has := o.BinaryData[bodyKey]
		return body, has
	case *v1.Secret:
		body, has := o.Data[bodyKey]
		return body, has
	}
	text, has := o.GetAnnotations()[bodyNote]
	return []byte(text), has
}

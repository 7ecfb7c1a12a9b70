package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"
)

// binds posts bindings, the one request that is made for each pod: over the
// connection of the other requests, but past what client-go does for each of them.
// Of an answer that is a yes nothing is read.
type binds struct {
	rest    rest.Interface
	next    http.RoundTripper
	encoder runtime.Encoder
	decoder runtime.Decoder
}

func newBinds(core rest.Interface, shared *http.Client, scheme *runtime.Scheme) *binds {
	return &binds{
		rest: core, next: shared.Transport, encoder: protobuf.NewSerializer(scheme, scheme),
		decoder: serializer.NewCodecFactory(scheme).UniversalDeserializer(),
	}
}

// post sends a binding. Where the API server says when it wants it to be sent again,
// it goes the way of the other requests, which heed that.
func (b *binds) post(ctx context.Context, binding *v1.Binding) error {
	usual := b.rest.Post().Namespace(binding.Namespace).Resource("pods").Name(binding.Name).SubResource("binding")
	binding.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"}
	body, err := runtime.Encode(b.encoder, binding)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, usual.URL().String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Content-Type": {runtime.ContentTypeProtobuf}, "Accept": {runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON}}
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 == 2 {
		_, err := io.Copy(io.Discard, answer.Body) // else the stream is reset
		return err
	}
	if answer.Header.Get("Retry-After") != "" {
		return usual.Body(binding).Do(ctx).Error()
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return err
	}
	return b.refused(answer.StatusCode, text)
}

// maxRefusal is how much of a refusal is read, in bytes.
const maxRefusal = 1 << 20

// refused gives the error that an answer is.
func (b *binds) refused(code int, text []byte) error {
	said, _, err := b.decoder.Decode(text, nil, nil)
	if status, ok := said.(*metav1.Status); err == nil && ok {
		return apierrors.FromObject(status)
	}
	return apierrors.NewGenericServerResponse(code, http.MethodPost, v1.Resource("pods"), "", fmt.Sprintf("%.200s", text), 0, true)
}

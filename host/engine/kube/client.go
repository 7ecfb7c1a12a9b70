package kube

import (
	"context"
	"io"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// client asks an API server for what this package needs. It knows two groups of
// kinds: a client that knows all of them makes the binary twice as large.
type client struct {
	rest       rest.Interface
	parameters runtime.ParameterCodec
}

func newClient(config *rest.Config) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config.UserAgent = "poise"
	config.QPS = -1 // the API server says itself what is too much
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.APIPath, config.GroupVersion = "/api", &v1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &client{rest: c, parameters: runtime.NewParameterCodec(scheme)}, nil
}

// list fills into with all objects of a resource that the options name.
func (c *client) list(ctx context.Context, resource string, o metav1.ListOptions, into runtime.Object) error {
	return c.rest.Get().Resource(resource).VersionedParams(&o, c.parameters).Do(ctx).Into(into)
}

func (c *client) watch(ctx context.Context, resource string, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.rest.Get().Resource(resource).VersionedParams(&o, c.parameters).Watch(ctx)
}

func (c *client) pod(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var p v1.Pod
	return &p, c.rest.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(&p)
}

func (c *client) create(ctx context.Context, p *v1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.rest.Post().Namespace(p.Namespace).Resource("pods").Body(p).Do(ctx).Error()
}

// logs streams a pod's output until it ends or ctx does.
func (c *client) logs(ctx context.Context, namespace, name string, o *v1.PodLogOptions) (io.ReadCloser, error) {
	return c.rest.Get().Namespace(namespace).Resource("pods").Name(name).SubResource("log").VersionedParams(o, c.parameters).Stream(ctx)
}

func (c *client) bind(ctx context.Context, b *v1.Binding) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.rest.Post().Namespace(b.Namespace).Resource("pods").Name(b.Name).SubResource("binding").Body(b).Do(ctx).Error()
}

func (c *client) evict(ctx context.Context, e *policyv1.Eviction) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.rest.Post().Namespace(e.Namespace).Resource("pods").Name(e.Name).SubResource("eviction").Body(e).Do(ctx).Error()
}

// patchStatus merges into the status of a pod.
func (c *client) patchStatus(ctx context.Context, p *v1.Pod, patch []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.rest.Patch(types.StrategicMergePatchType).Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("status").Body(patch).Do(ctx).Error()
}

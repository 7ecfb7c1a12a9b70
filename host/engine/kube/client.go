package kube

import (
	"context"
	"io"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// client asks an API server for what this package needs. It knows six groups of
// kinds: a client that knows all of them makes the binary twice as large.
type client struct {
	rest       rest.Interface // core/v1, and the subresources of pods
	leases     rest.Interface // coordination/v1
	jobs       rest.Interface // batch/v1
	groups     rest.Interface // PodGroups
	events     rest.Interface // events/v1
	parameters runtime.ParameterCodec
	guard      Guard // nil = everything may be written
}

func newClient(config *rest.Config, guard Guard) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, policyv1.AddToScheme, coordinationv1.AddToScheme, batchv1.AddToScheme, eventsv1.AddToScheme, addPodGroups} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config.UserAgent = "poise"
	config.QPS = -1 // the API server says itself what is too much
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if guard != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guarded{guard: guard, next: next} })
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &client{parameters: runtime.NewParameterCodec(scheme), guard: guard}
	for _, g := range []struct {
		path    string
		version schema.GroupVersion
		into    *rest.Interface
	}{
		{"/api", v1.SchemeGroupVersion, &c.rest},
		{"/apis", coordinationv1.SchemeGroupVersion, &c.leases},
		{"/apis", batchv1.SchemeGroupVersion, &c.jobs},
		{"/apis", podGroupVersion, &c.groups},
		{"/apis", eventsv1.SchemeGroupVersion, &c.events},
	} {
		one := rest.CopyConfig(config)
		one.APIPath, one.GroupVersion = g.path, &g.version
		if *g.into, err = rest.RESTClientForConfigAndClient(one, shared); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// of gives the client of a resource that is followed.
func (c *client) of(resource string) rest.Interface {
	if resource == podGroupResource {
		return c.groups
	}
	return c.rest
}

// write bounds a call that changes something: it ends no later than the lead.
func (c *client) write(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := callTimeout
	if h, ours := c.guard.(*Home); ours {
		if left := h.left(); left > 0 { // else the guard says why it is not sent
			limit = min(limit, left)
		}
	}
	return context.WithTimeout(ctx, limit)
}

// list fills into with all objects of a resource that the options name.
func (c *client) list(ctx context.Context, resource string, o metav1.ListOptions, into runtime.Object) error {
	return c.of(resource).Get().Resource(resource).VersionedParams(&o, c.parameters).Do(ctx).Into(into)
}

func (c *client) watch(ctx context.Context, resource string, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.of(resource).Get().Resource(resource).VersionedParams(&o, c.parameters).Watch(ctx)
}

func (c *client) pod(ctx context.Context, namespace, name string) (*v1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var p v1.Pod
	return &p, c.rest.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(&p)
}

func (c *client) create(ctx context.Context, p *v1.Pod) error {
	ctx, cancel := c.write(ctx)
	defer cancel()
	return c.rest.Post().Namespace(p.Namespace).Resource("pods").Body(p).Do(ctx).Error()
}

// logs streams a pod's output until it ends or ctx does.
func (c *client) logs(ctx context.Context, namespace, name string, o *v1.PodLogOptions) (io.ReadCloser, error) {
	return c.rest.Get().Namespace(namespace).Resource("pods").Name(name).SubResource("log").VersionedParams(o, c.parameters).Stream(ctx)
}

func (c *client) bind(ctx context.Context, b *v1.Binding) error {
	ctx, cancel := c.write(ctx)
	defer cancel()
	return c.rest.Post().Namespace(b.Namespace).Resource("pods").Name(b.Name).SubResource("binding").Body(b).Do(ctx).Error()
}

func (c *client) evict(ctx context.Context, e *policyv1.Eviction) error {
	ctx, cancel := c.write(ctx)
	defer cancel()
	return c.rest.Post().Namespace(e.Namespace).Resource("pods").Name(e.Name).SubResource("eviction").Body(e).Do(ctx).Error()
}

// patchStatus merges into the status of a pod.
func (c *client) patchStatus(ctx context.Context, p *v1.Pod, patch []byte) error {
	ctx, cancel := c.write(ctx)
	defer cancel()
	return c.rest.Patch(types.StrategicMergePatchType).Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("status").Body(patch).Do(ctx).Error()
}

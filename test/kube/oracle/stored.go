package oracle

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the types and defaults of pods
	registry "k8s.io/kubernetes/pkg/registry/core/pod"
)

// Stored is the pod that schedulers get to see when somebody creates this one:
// defaults are set, keys of matchLabelKeys have become selectors, and its status
// is its own. It is the error that the API server would refuse it with, if it
// would. Admission has no part in it.
func Stored(pod *v1.Pod) (*v1.Pod, error) {
	scheme := legacyscheme.Scheme
	full := pod.DeepCopy()
	scheme.Default(full)
	var internal core.Pod
	if err := scheme.Convert(full, &internal, nil); err != nil {
		return nil, fmt.Errorf("read pod %q: %w", pod.Name, err)
	}
	registry.Strategy.PrepareForCreate(context.Background(), &internal)
	if errs := registry.Strategy.Validate(context.Background(), &internal); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	out := &v1.Pod{}
	if err := scheme.Convert(&internal, out, nil); err != nil {
		return nil, fmt.Errorf("write pod %q: %w", pod.Name, err)
	}
	return out, nil
}

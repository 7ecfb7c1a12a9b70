package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podGroupVersion is that of the PodGroups that are read. Their definition comes with
// other schedulers and need not be there.
var podGroupVersion = schema.GroupVersion{Group: "scheduling.x-k8s.io", Version: "v1alpha1"}

const podGroupResource = "podgroups"

// podGroup is what is read of a PodGroup.
type podGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		MinMember int32 `json:"minMember"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (g *podGroup) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

type podGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []podGroup `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *podGroupList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]podGroup, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*podGroup)
	}
	return &out
}

// addPodGroups makes a scheme know PodGroups.
func addPodGroups(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(podGroupVersion.WithKind("PodGroup"), &podGroup{})
	s.AddKnownTypeWithName(podGroupVersion.WithKind("PodGroupList"), &podGroupList{})
	metav1.AddToGroupVersion(s, podGroupVersion)
	return nil
}

// groupsAgain is how long it takes until it is seen that PodGroups can be read now.
const groupsAgain = 15 * time.Second

// followPodGroups reads PodGroups until ctx ends. Where there are none to read, or the
// right is missing, pods that go by one wait and say so, and nothing else does.
func (w *follower) followPodGroups(ctx context.Context) {
	for {
		err := w.cluster.client.list(ctx, podGroupResource, metav1.ListOptions{Limit: 1}, &podGroupList{})
		if err == nil {
			break
		}
		if ctx.Err() == nil {
			why := err.Error()
			if apierrors.IsNotFound(err) {
				why = "the cluster has no " + podGroupResource + "." + podGroupVersion.Group + "/" + podGroupVersion.Version
			}
			w.add(func(o *world) { o.podGroups(why, func(least map[string]int32) { clear(least) }) })
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(groupsAgain):
		}
	}
	i := informer(w, podGroupResource, &podGroup{}, &podGroupList{}, "", (*world).podGroupSeen, (*world).podGroupGone)
	go func() {
		select {
		case <-ctx.Done():
		case <-i.HasSyncedChecker().Done():
			w.add(func(o *world) { o.podGroups("", func(map[string]int32) {}) })
		}
	}()
	i.RunWithContext(ctx)
}

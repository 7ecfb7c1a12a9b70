package daemon

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// manifests is where a user finds those of a deployment.
var manifests = filepath.Join("..", "..", "..", "examples", "kubernetes")

// manifest reads one of them.
func manifest(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// kustomization is what is used of one.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Resources       []string `json:"resources"`
	Images          []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
}

// objectsOf gives the objects of manifests, in order, each with the name of its file.
func objectsOf(t *testing.T, names []string) iter.Seq2[string, *unstructured.Unstructured] {
	return func(yield func(string, *unstructured.Unstructured) bool) {
		t.Helper()
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(manifests, name))
			if err != nil {
				t.Fatal(err)
			}
			for part := range strings.SplitSeq(string(text), "\n---\n") {
				var o unstructured.Unstructured
				if err := yaml.UnmarshalStrict([]byte(part), &o.Object); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !yield(name, &o) {
					return
				}
			}
		}
	}
}

// A real API server takes every manifest, in the order of the kustomization, and
// the pod of the Deployment is one that its namespace lets in.
func TestManifests(t *testing.T) {
	t.Parallel()
	var all kustomization
	manifest(t, "kustomization.yaml", &all)
	files, err := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" && !slices.Contains(all.Resources, name) {
			t.Errorf("%s is not among the resources", name)
		}
	}
	var deployment appsv1.Deployment
	manifest(t, "deployment.yaml", &deployment)
	if image := deployment.Spec.Template.Spec.Containers[0].Image; len(all.Images) != 1 || all.Images[0].Name != image {
		t.Errorf("images %v, expected one for %q", all.Images, image)
	}

	plane := cluster.ForTest(t, cluster.Config{})
	objects, err := dynamic.NewForConfig(plane.Client(cluster.Admin))
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(plane.Client(cluster.Admin))
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range objectsOf(t, all.Resources) {
		kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		options := metav1.ApplyOptions{FieldManager: "test", DryRun: []string{metav1.DryRunAll}}
		if o.GetKind() == "Namespace" {
			options.DryRun = nil // the others are in it
		}
		if _, err := objects.Resource(kind).Namespace(o.GetNamespace()).Apply(t.Context(), o.GetName(), o, options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "poise"}, Spec: deployment.Spec.Template.Spec}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	if _, err := api.CoreV1().Pods(deployment.Namespace).Create(t.Context(), pod, dry); err != nil {
		t.Errorf("its pod: %v", err)
	}
	pod.Spec.SecurityContext.SeccompProfile = nil
	if _, err := api.CoreV1().Pods(deployment.Namespace).Create(t.Context(), pod, dry); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("its pod with less security: %v, expected it to be refused", err)
	}
}

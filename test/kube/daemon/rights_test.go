package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// grant is a right that a role gives.
type grant struct {
	right string // such as "create pods/binding"
	group string
	home  bool // in the home namespace alone
}

// grantsOf lists what rules give, by right.
func grantsOf(rules []rbacv1.PolicyRule, home bool) []grant {
	var all []grant
	for _, r := range rules {
		for _, what := range r.Resources {
			for _, verb := range r.Verbs {
				all = append(all, grant{verb + " " + what, r.APIGroups[0], home})
			}
		}
	}
	slices.SortFunc(all, func(a, b grant) int { return strings.Compare(a.right, b.right) })
	return all
}

// rolePlane is a fleet under RBAC with the roles of the manifests, and a gate before its
// API server. It has a pod that the daemon takes to be its own.
type rolePlane struct {
	*fleet
	*gate
	robot   cluster.User
	cluster rbacv1.ClusterRole
	home    rbacv1.Role
	grants  []grant
	token   string
}

func newRolePlane(t *testing.T) *rolePlane {
	t.Helper()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		t.Skipf("a file system as in a pod: unshare -rm: %v", err)
	}
	var account v1.ServiceAccount
	manifest(t, "serviceaccount.yaml", &account)
	r := &rolePlane{robot: cluster.ServiceAccount(account.Namespace, account.Name)}
	plane := cluster.ForTest(t, cluster.Config{RBAC: true, Users: []cluster.User{r.robot}})
	r.fleet, r.gate = newFleetOn(t, plane, "n1", "n2"), newGate(t, plane.Client(cluster.Admin))
	r.token = plane.Client(r.robot.Name).BearerToken
	r.definePodGroups()
	manifest(t, "clusterrole.yaml", &r.cluster)
	manifest(t, "role.yaml", &r.home)
	r.grants = append(grantsOf(r.cluster.Rules, false), grantsOf(r.home.Rules, true)...)
	for _, name := range []string{"poise", "red", "blue"} {
		r.space(name)
	}
	r.apply("clusterrole.yaml", "clusterrolebinding.yaml", "role.yaml", "rolebinding.yaml", "fence.yaml")
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	r.create("poise", name, "1", func(p *v1.Pod) { p.Spec.SchedulerName = "none" })
	return r
}

// apply applies manifests.
func (f *fleet) apply(names ...string) {
	f.t.Helper()
	objects, err := dynamic.NewForConfig(f.plane.Client(cluster.Admin))
	if err != nil {
		f.t.Fatal(err)
	}
	for name, o := range objectsOf(f.t, names) {
		kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if _, err := objects.Resource(kind).Namespace(o.GetNamespace()).Apply(f.t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
			f.t.Fatalf("%s: %v", name, err)
		}
	}
}

// but has the roles give each of their rights but one, and waits until they do.
func (r *rolePlane) but(without grant) {
	r.t.Helper()
	rules := map[bool][]rbacv1.PolicyRule{}
	for _, g := range r.grants {
		if g != without {
			verb, what, _ := strings.Cut(g.right, " ")
			rules[g.home] = append(rules[g.home], rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: []string{what}, Verbs: []string{verb}})
		}
	}
	all, home := r.cluster.DeepCopy(), r.home.DeepCopy()
	all.Rules, home.Rules = rules[false], rules[true]
	if _, err := r.api.RbacV1().ClusterRoles().Update(r.t.Context(), all, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.api.RbacV1().Roles(home.Namespace).Update(r.t.Context(), home, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.may(without)
}

// may waits until the service account has all rights but one.
func (r *rolePlane) may(without grant) {
	r.t.Helper()
	for _, g := range r.grants {
		eventually(r.t, "the right to "+g.right, func() bool { return r.can(g) == (g != without) })
	}
}

// can asks whether the service account has a right.
func (r *rolePlane) can(g grant) bool {
	r.t.Helper()
	verb, what, _ := strings.Cut(g.right, " ")
	resource, sub, _ := strings.Cut(what, "/")
	of := &authorizationv1.ResourceAttributes{Verb: verb, Group: g.group, Resource: resource, Subresource: sub}
	if g.home {
		of.Namespace = r.home.Namespace
	}
	answer, err := r.api.AuthorizationV1().SubjectAccessReviews().Create(r.t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: r.robot.Name, Groups: r.robot.Groups, ResourceAttributes: of},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return answer.Status.Allowed
}

// age has the records of jobs that have ended say that they did so long ago.
func (r *rolePlane) age() {
	r.t.Helper()
	jobs, err := r.api.BatchV1().Jobs(r.home.Namespace).List(r.t.Context(), metav1.ListOptions{LabelSelector: "poise.dev/record=job"})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		var body map[string]any
		if err := json.Unmarshal([]byte(j.Annotations["poise.dev/job"]), &body); err != nil {
			r.t.Fatal(err)
		}
		if body["Ended"] == nil {
			continue
		}
		body["Submitted"], body["Ended"] = 1, 2
		text, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		j.Annotations["poise.dev/job"] = string(text)
		if _, err := r.api.BatchV1().Jobs(r.home.Namespace).Update(r.t.Context(), j, metav1.UpdateOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rolePlane) gone(space, name string) bool {
	r.t.Helper()
	_, err := r.api.CoreV1().Pods(space).Get(r.t.Context(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func (r *rolePlane) unschedulable(space, name string) bool {
	r.t.Helper()
	return slices.ContainsFunc(r.pod(space, name).Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Reason == v1.PodReasonUnschedulable
	})
}

// relabel changes a pod that waits, so that it is tried anew.
func (r *rolePlane) relabel(space, name string) {
	r.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"at":"%d"}}}`, time.Now().UnixNano())
	if _, err := r.api.CoreV1().Pods(space).Patch(r.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// keeps does what has the home write records of a tenant and of a job, as far as it gets.
func (p *program) keeps(tenant string) {
	for _, args := range [][]string{
		{"tenant", "create", tenant},
		{"tenant", "quota", tenant, "--weight", "2"},
		{"tenant", "token", "create", tenant, "--role", "viewer", "--name", "t"},
		{"job", "submit", "--name", tenant, "--image", "none", "--cpu", "100m", "--env", "kubelet.test/run-for=100ms", "--wait"},
		{"tenant", "remove", tenant},
	} {
		if out, err := p.try(args...); err != nil {
			p.t.Logf("poise %s: %v: %s", strings.Join(args, " "), err, out)
			return
		}
	}
}

// With the roles of the manifests, and no other right, a daemon leads, joins the cluster
// it runs in by itself, places pods of two namespaces, says on one why it waits and on one
// why it is not for Poise, evicts one, and has at home what must survive it; every right is
// used, and none is missed.
func TestRightsSuffice(t *testing.T) {
	t.Parallel()
	r := newRolePlane(t)
	r.may(grant{})
	r.anew("create pods/binding", "create configmaps", "create secrets", "create jobs")
	p := servePod(t, t.TempDir(), r.gate, r.token)
	r.create("red", "r", "1")
	r.create("blue", "b", "1")
	r.create("red", "giant", "64")
	r.create("blue", "claims", "1", func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	})
	r.runs("red", "r")
	r.runs("blue", "b")
	eventually(t, "the condition of giant", func() bool { return r.unschedulable("red", "giant") })
	eventually(t, "the condition of claims", func() bool { return r.unschedulable("blue", "claims") })
	eventually(t, "an event of giant is counted", func() bool {
		r.relabel("red", "giant")
		return r.hasUsed("patch events")
	})
	p.poise("job", "cancel", "red/r", "--tenant", "red")
	eventually(t, "red/r is evicted", func() bool { return r.gone("red", "r") })
	p.submit("batch", "100m", "run-for=100ms", "log=done")
	p.is("batch", "succeeded")
	if out := p.poise("job", "logs", "batch"); !strings.HasPrefix(out, "done\n") {
		t.Errorf("%q", out)
	}
	p.keeps("green")
	if name, err := os.Hostname(); err != nil || r.pod("poise", name).Labels["poise.dev/leader"] != "true" {
		t.Errorf("the pod of the one who leads has labels %v, %v", r.pod("poise", name).Labels, err)
	}

	// Started again, with nothing on its disk, it goes on, and uses the nodes that the
	// configuration says now.
	p.kill()
	r.age()
	p = servePod(t, t.TempDir(), r.gate, r.token, "--cluster.in-cluster-nodes", "zone=east")
	eventually(t, "only the node in the east", func() bool {
		out := p.poise("node", "list")
		return strings.Contains(out, "kubernetes/n1") && !strings.Contains(out, "kubernetes/n2")
	})
	if out := p.poise("cluster", "list"); strings.Count(out, "Kubernetes, joined") != 1 {
		t.Errorf("%s", out)
	}
	r.create("blue", "late", "1")
	if pod := r.runs("blue", "late"); pod.Spec.NodeName != "n1" {
		t.Errorf("late is on %s", pod.Spec.NodeName)
	}
	p.kill()
	if strings.Contains(p.said(), "no fence") {
		t.Error("the cluster has no fence")
	}
	var granted []string
	for _, g := range r.grants {
		granted = append(granted, g.right)
	}
	slices.Sort(granted)
	r.mu.Lock()
	defer r.mu.Unlock()
	if used := slices.Sorted(maps.Keys(r.used)); !slices.Equal(used, granted) {
		t.Errorf("used    %q\ngranted %q", used, granted)
	}
	if len(r.refused) > 0 {
		t.Errorf("refused: %v", r.refused)
	}
}

// No right is superfluous: without it, something is refused.
func TestRightsAreNeeded(t *testing.T) {
	t.Parallel()
	r := newRolePlane(t)
	p := servePod(t, t.TempDir(), r.gate, r.token)
	p.submit("old", "100m", "run-for=100ms")
	p.is("old", "succeeded")
	p.kill()
	for i, g := range r.grants {
		r.but(g)
		if err := r.api.CoordinationV1().Leases(r.home.Namespace).Delete(t.Context(), "poise", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err) // the next one need not wait for the one before
		}
		name := string(rune('a'+i/10)) + string(rune('0'+i%10))
		if g.home {
			r.isNeededAtHome(g, name)
		} else {
			r.isNeeded(g, name)
		}
	}
}

// isNeededAtHome tries what takes a right in the home namespace.
func (r *rolePlane) isNeededAtHome(g grant, name string) {
	r.t.Helper()
	verb, what, _ := strings.Cut(g.right, " ")
	r.anew()
	if verb == "get" && g.group != "coordination.k8s.io" {
		r.anew("create " + what)
	}
	if g.right == "delete jobs" {
		r.age()
	}
	p := launchPod(r.t, r.t.TempDir(), r.gate, r.token)
	tried := make(chan struct{})
	go func() {
		defer close(tried)
		for !r.hasRefused(g.right) {
			if _, err := p.try("cluster", "list"); err == nil {
				p.keeps(name)
				return
			}
		}
	}()
	eventually(r.t, "without the right to "+g.right+" something is refused", func() bool { return r.hasRefused(g.right) })
	p.kill()
	<-tried
}

// isNeeded tries what takes a right in all namespaces.
func (r *rolePlane) isNeeded(g grant, name string) {
	r.t.Helper()
	_, what, _ := strings.Cut(g.right, " ")
	r.anew()
	if g.right == "get pods" {
		r.anew("create pods/binding")
	}
	p := servePod(r.t, r.t.TempDir(), r.gate, r.token)
	r.create("red", name, "100m")
	r.create("red", name+"-giant", "64")
	if what == "pods/eviction" {
		r.runs("red", name)
		_, _ = p.try("job", "cancel", "red/"+name, "--tenant", "red")
	}
	if g.right == "create pods" || what == "pods/log" {
		p.submit(name+"-job", "100m", "run-for=100ms")
	}
	if what == "pods/log" {
		p.is(name+"-job", "succeeded")
		if out, err := p.try("job", "logs", name+"-job"); err == nil {
			r.t.Errorf("without the right to %s: %q", g.right, out)
		}
	}
	eventually(r.t, "without the right to "+g.right+" something is refused", func() bool {
		if g.right == "patch events" {
			r.relabel("red", name+"-giant")
		}
		return r.hasRefused(g.right)
	})
	switch what {
	case "pods/binding":
		if node := r.pod("red", name).Spec.NodeName; node != "" {
			r.t.Errorf("without the right to %s: on %s", g.right, node)
		}
	case "pods/status":
		if r.unschedulable("red", name+"-giant") {
			r.t.Errorf("without the right to %s: a condition", g.right)
		}
	case "pods/eviction":
		if r.pod("red", name).DeletionTimestamp != nil {
			r.t.Errorf("without the right to %s: it is deleted", g.right)
		}
	}
	p.kill()
	r.delete("red", name)
	r.delete("red", name+"-giant")
}

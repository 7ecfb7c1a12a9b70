package daemon

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// rightsOf lists the rights that a role gives, such as "create pods/binding".
func rightsOf(role *rbacv1.ClusterRole) []string {
	var all []string
	for _, r := range role.Rules {
		for _, what := range r.Resources {
			for _, verb := range r.Verbs {
				all = append(all, verb+" "+what)
			}
		}
	}
	slices.Sort(all)
	return all
}

// rolePlane is a fleet under RBAC, and a gate before its API server.
type rolePlane struct {
	*fleet
	*gate
	robot cluster.User
	role  rbacv1.ClusterRole
	token string
}

func newRolePlane(t *testing.T) *rolePlane {
	t.Helper()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		t.Skipf("a file system as in a pod: unshare -rm: %v", err)
	}
	var binding rbacv1.ClusterRoleBinding
	manifest(t, "clusterrolebinding.yaml", &binding)
	var account v1.ServiceAccount
	manifest(t, "serviceaccount.yaml", &account)
	r := &rolePlane{robot: cluster.ServiceAccount(account.Namespace, account.Name)}
	plane := cluster.ForTest(t, cluster.Config{RBAC: true, Users: []cluster.User{r.robot}})
	r.fleet, r.gate = newFleetOn(t, plane, "n1", "n2"), newGate(t, plane.Client(cluster.Admin))
	r.token = plane.Client(r.robot.Name).BearerToken
	manifest(t, "clusterrole.yaml", &r.role)
	if _, err := r.api.RbacV1().ClusterRoles().Create(t.Context(), &r.role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.api.RbacV1().ClusterRoleBindings().Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.space("red")
	r.space("blue")
	return r
}

// but has the role give each of its rights but one, and waits until it does.
func (r *rolePlane) but(right string) {
	r.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.role.Name}}
	for _, one := range rightsOf(&r.role) {
		verb, what, _ := strings.Cut(one, " ")
		if one != right {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{what}, Verbs: []string{verb}})
		}
	}
	if _, err := r.api.RbacV1().ClusterRoles().Update(r.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	for _, one := range rightsOf(&r.role) {
		eventually(r.t, "the right to "+one, func() bool { return r.may(one) == (one != right) })
	}
}

// may asks whether the service account has a right.
func (r *rolePlane) may(right string) bool {
	r.t.Helper()
	verb, what, _ := strings.Cut(right, " ")
	resource, sub, _ := strings.Cut(what, "/")
	answer, err := r.api.AuthorizationV1().SubjectAccessReviews().Create(r.t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: r.robot.Name, Groups: r.robot.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: sub},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return answer.Status.Allowed
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

// With the ClusterRole of the manifests, and no other right, a daemon joins the
// cluster it runs in by itself, places pods of two namespaces, says on one why it
// waits and on one why it is not for Poise, and evicts one; every right is used, and none is missed.
func TestRightsSuffice(t *testing.T) {
	r := newRolePlane(t)
	for _, one := range rightsOf(&r.role) {
		eventually(t, "the right to "+one, func() bool { return r.may(one) })
	}
	r.anew(true)
	dir := t.TempDir()
	p := servePod(t, dir, r.gate, r.token)
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
	p.poise("job", "cancel", "red/r", "--tenant", "red")
	eventually(t, "red/r is evicted", func() bool { return r.gone("red", "r") })
	p.submit("batch", "100m", "run-for=100ms", "log=done")
	p.is("batch", "succeeded")
	if out := p.poise("job", "logs", "batch"); !strings.HasPrefix(out, "done\n") {
		t.Errorf("%q", out)
	}

	// Started again it goes on, and uses the nodes that the configuration says now.
	p.kill()
	p = servePod(t, dir, r.gate, r.token, "--cluster.in-cluster-nodes", "zone=east")
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if used := slices.Sorted(maps.Keys(r.used)); !slices.Equal(used, rightsOf(&r.role)) {
		t.Errorf("used    %q\ngranted %q", used, rightsOf(&r.role))
	}
	if len(r.refused) > 0 {
		t.Errorf("refused: %v", r.refused)
	}
}

// No right is superfluous: without it, something fails.
func TestRightsAreNeeded(t *testing.T) {
	r := newRolePlane(t)
	for i, right := range rightsOf(&r.role) {
		_, what, _ := strings.Cut(right, " ")
		r.but(right)
		r.anew(right == "get pods")
		p := servePod(t, t.TempDir(), r.gate, r.token)
		name := string(rune('a' + i))
		r.create("red", name, "100m")
		r.create("red", name+"-giant", "64")
		if what == "pods/eviction" {
			r.runs("red", name)
			_, _ = p.try("job", "cancel", "red/"+name, "--tenant", "red")
		}
		if right == "create pods" || what == "pods/log" {
			p.submit("batch", "100m", "run-for=100ms")
		}
		if what == "pods/log" {
			p.is("batch", "succeeded")
			if out, err := p.try("job", "logs", "batch"); err == nil {
				t.Errorf("without the right to %s: %q", right, out)
			}
		}
		eventually(t, "without the right to "+right+" something is refused", func() bool { return r.hasRefused(right) })
		switch what {
		case "pods/binding":
			if node := r.pod("red", name).Spec.NodeName; node != "" {
				t.Errorf("without the right to %s: on %s", right, node)
			}
		case "pods/status":
			if r.unschedulable("red", name+"-giant") {
				t.Errorf("without the right to %s: a condition", right)
			}
		case "pods/eviction":
			if r.pod("red", name).DeletionTimestamp != nil {
				t.Errorf("without the right to %s: it is deleted", right)
			}
		}
		p.kill()
		r.delete("red", name)
		r.delete("red", name+"-giant")
	}
}

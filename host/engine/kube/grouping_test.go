package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/engine"
	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// crowd is a world of one node with a word for each pod.
type crowd struct {
	*testing.T
	*world
	born int
}

func newCrowd(t *testing.T) *crowd {
	w := newWorld("north", "poise", func() poise.Time { return 0 }, func(engine.Status) {})
	if err := w.node(node("n1")); err != nil {
		t.Fatal(err)
	}
	w.take()
	return &crowd{T: t, world: w}
}

// member is a pod with annotations, and labels where their key is of one, each a key
// and a value.
func (c *crowd) member(name string, marks ...string) *v1.Pod {
	p := pod(name, "poise", "")
	c.born++
	p.CreationTimestamp = metav1.NewTime(time.Unix(int64(c.born), 0))
	p.Annotations, p.Labels = map[string]string{}, map[string]string{}
	for i := 0; i < len(marks); i += 2 {
		switch key := marks[i]; {
		case slices.Contains(podGroupLabels, key), key == jobIndexLabel:
			p.Labels[key] = marks[i+1]
		case key == "job":
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: marks[i+1], UID: types.UID("u-" + marks[i+1]), Controller: new(true)}}
		default:
			p.Annotations[mark+key] = marks[i+1]
		}
	}
	return p
}

// told gives what is told of pods, in words.
func (c *crowd) told() string {
	var all []string
	for _, each := range c.take() {
		for _, line := range say(each) {
			all = append(all, strings.ReplaceAll(strings.TrimSuffix(line, " of s"), "waits u-", ""))
		}
	}
	return strings.Join(all, "\n")
}

func (c *crowd) expect(want ...string) {
	c.Helper()
	if got := c.told(); got != strings.Join(want, "\n") {
		c.Errorf("told\n%s\nexpected\n%s", got, strings.Join(want, "\n"))
	}
}

// bound is the pod on the node by Poise.
func bound(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = "n1"
	p.Annotations[placementNote] = "p-" + p.Name
	return p
}

// Pods of a Job start together once all are there, also without an index of their own,
// and what comes later by itself.
func TestPodsOfAJob(t *testing.T) {
	c := newCrowd(t)
	a, b := c.member("a", "gang-size", "3", "job", "j"), c.member("b", "gang-size", "3", "job", "j")
	d, other := c.member("d", "gang-size", "3", "job", "j"), c.member("x", "gang-size", "3", "job", "k")
	for _, p := range []*v1.Pod{a, b, other} {
		c.pod(p)
	}
	c.expect("a of s until its gang j waits for as many as 3 pods", "b of s until its gang j waits for as many as 3 pods", "x of s until its gang k waits for as many as 3 pods")
	c.pod(d)
	c.expect("a of s as 0 of 3, 3 together", "b of s as 1 of 3, 3 together", "d of s as 2 of 3, 3 together")
	c.pod(bound(a))
	c.expect("bound u-a on north/n1 by p-a")
	c.pod(bound(b))
	c.pod(bound(d))
	c.expect("bound u-b on north/n1 by p-b", "bound u-d on north/n1 by p-d")
	over := bound(b)
	over.Status.Phase = v1.PodFailed
	c.pod(over)
	again := c.member("e", "gang-size", "3", "job", "j")
	c.pod(again)
	c.expect("gone u-b", "e")
	c.podGone(over)
	c.expect()
	// All are deleted and come anew.
	for _, p := range []*v1.Pod{bound(a), bound(d), again} {
		c.podGone(p)
	}
	c.told()
	for _, name := range []string{"f", "g", "h", "i"} {
		c.pod(c.member(name, "gang-size", "3", "job", "j"))
	}
	c.expect("f of s as 0 of 3, 3 together", "g of s as 1 of 3, 3 together", "h of s as 2 of 3, 3 together", "i of s until its gang j has not started yet")
}

// One that goes before the gang has started takes it back; one that comes in its
// place makes it another gang.
func TestGangIsTakenBack(t *testing.T) {
	c := newCrowd(t)
	a := c.member("a", "gang", "t", "gang-size", "2")
	c.pod(a)
	c.pod(c.member("b", "gang", "t", "gang-size", "2"))
	c.expect("a of s as 0 of 2, 2 together", "b of s as 1 of 2, 2 together")
	first := c.pods["u-b"].part.gang.ID
	c.podGone(a)
	c.expect("gone u-a", "b of s until its gang t waits for as many as 2 pods")
	c.pod(c.member("c", "gang", "t", "gang-size", "2"))
	c.expect("b of s as 0 of 2, 2 together", "c of s as 1 of 2, 2 together")
	if c.pods["u-b"].part.gang.ID == first {
		t.Error("the gang with another member has the id of the first")
	}
	// One that must not be placed is no member, nor is one that has gates.
	c.pod(c.member("d", "gang", "v", "gang-size", "2"))
	gated := c.member("e", "gang", "v", "gang-size", "2")
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "later"}}
	c.pod(gated)
	claims := c.member("f", "gang", "v", "gang-size", "2")
	claims.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
	c.pod(claims)
	c.expect("f of s, uses resource claims", "d of s until its gang v waits for as many as 2 pods")
}

// The index of a pod, and of one in an indexed Job, says which are extra.
func TestMembersHaveTheirIndex(t *testing.T) {
	c := newCrowd(t)
	c.pod(c.member("a", "gang-size", "3", "gang-min", "2", "job", "j", jobIndexLabel, "2"))
	c.pod(c.member("b", "gang-size", "3", "gang-min", "2", "job", "j", jobIndexLabel, "1"))
	c.pod(c.member("d", "gang-size", "3", "gang-min", "2", "job", "j", jobIndexLabel, "0"))
	c.expect("a of s as 2 of 3, 2 together", "b of s as 1 of 3, 2 together", "d of s as 0 of 3, 2 together")
	c.pod(bound(c.member("d", "gang-size", "3", "gang-min", "2", "job", "j")))
	c.expect("bound u-d on north/n1 by p-d") // a still follows as an extra one
}

// A PodGroup says how many start together. Where it is missing, or there are none,
// the pods say what they wait for.
func TestPodGroups(t *testing.T) {
	c := newCrowd(t)
	label := podGroupLabels[0]
	c.pod(c.member("a", label, "g"))
	c.pod(c.member("old", podGroupLabels[1], "g"))
	c.pod(c.member("own", label, "h", "gang-size", "2"))
	why := "until its PodGroup s/g cannot be read: %s; expected that, or the annotation poise.dev/gang-size"
	c.expect("a of s "+fmt.Sprintf(why, "not read yet"), "old of s "+fmt.Sprintf(why, "not read yet"), "own of s until its gang h waits for as many as 2 pods")
	c.podGroups("the cluster has no podgroups", func(map[string]int32) {})
	c.expect("a of s "+fmt.Sprintf(why, "the cluster has no podgroups"), "old of s "+fmt.Sprintf(why, "the cluster has no podgroups"))
	c.podGroups("", func(map[string]int32) {})
	c.expect("a of s until its PodGroup s/g is not there", "old of s until its PodGroup s/g is not there")
	g := &podGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "s", Name: "g"}}
	g.Spec.MinMember = 3
	c.podGroupSeen(g)
	c.expect("a of s until its gang g waits for as many as 3 pods", "old of s until its gang g waits for as many as 3 pods")
	g.Spec.MinMember = 2
	c.podGroupSeen(g)
	c.expect("a of s as 0 of 2, 2 together", "old of s as 1 of 2, 2 together")
	c.pod(c.member("third", label, "g"))
	c.expect("third of s until its gang g has not started yet")
	c.pod(bound(c.member("a", label, "g")))
	c.pod(bound(c.member("old", podGroupLabels[1], "g")))
	c.expect("bound u-a on north/n1 by p-a", "bound u-old on north/n1 by p-old", "third")
	g.Spec.MinMember = 1
	c.podGroupSeen(g)
	c.pod(c.member("fourth", label, "g"))
	c.expect("fourth")
	c.podGroupGone(g)
	c.expect("third of s until its PodGroup s/g is not there", "fourth of s until its PodGroup s/g is not there")
}

// Whatever comes and goes, the pods that are told to start together are whole gangs:
// as many as it says, each index once, all of one group.
func TestGangsAreWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCrowd(t)
		names := []string{"a", "b", "c", "d", "e", "f"}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			name := rapid.SampledFrom(names).Draw(r, "pod")
			group := rapid.SampledFrom([]string{"t", "v"}).Draw(r, "group")
			was := c.pods[types.UID("u-"+name)]
			switch {
			case was == nil:
				c.pod(c.member(name, "gang", group, "gang-size", map[string]string{"t": "2", "v": "3"}[group]))
			case rapid.Bool().Draw(r, "goes"):
				c.podGone(was.pod)
			case was.pod.Spec.NodeName == "" && was.part != nil && was.part.until == "":
				c.pod(bound(was.pod))
			}
			if rapid.Bool().Draw(r, "more") {
				continue
			}
			c.take()
			whole(r, c.world)
		}
	})
}

func whole(t *rapid.T, w *world) {
	gangs, started := map[string][]int32{}, map[string]bool{}
	size := map[string]int32{}
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		v := w.pods[uid]
		told, waits := v.told.(PodWaits)
		if !waits {
			if v.part != nil && v.part.gang != nil {
				started[v.part.gang.ID] = true
			}
			continue
		}
		if g := told.Job.Gang; g != nil {
			gangs[g.ID] = append(gangs[g.ID], g.Index)
			size[g.ID] = g.Size
		}
	}
	for id, indices := range gangs {
		slices.Sort(indices)
		for i, index := range indices {
			if !started[id] && (index != int32(i) || len(indices) != int(size[id])) {
				t.Fatalf("gang %s of %d waits with %v", id, size[id], indices)
			}
		}
	}
}

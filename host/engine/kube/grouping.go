package kube

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// groups are the pods that belong together, and what their objects say.
type groups struct {
	members map[string]map[types.UID]bool // by key of the group
	dirty   map[string]bool               // keys of those in which something changed
	least   map[string]int32              // minMember, by namespace and name of the PodGroup
	why     string                        // PodGroups cannot be read, "" = they were
}

func newGroups() groups {
	return groups{members: map[string]map[types.UID]bool{}, dirty: map[string]bool{}, least: map[string]int32{}, why: "not read yet"}
}

// part is what a pod that waits is in its group.
type part struct {
	until string      // why it is not to be placed yet, "" = it may be
	gang  *poise.Gang // nil = it starts by itself
}

// grouped takes note of the group of a pod, nil = it is in none, and has all of them
// looked at.
func (w *world) grouped(v *podView, is *group) {
	if was := v.group; was != nil && (is == nil || is.key != was.key) {
		delete(w.groups.members[was.key], v.pod.UID)
		w.groups.dirty[was.key], v.part = true, nil
	}
	if v.group = is; is == nil {
		return
	}
	if w.groups.members[is.key] == nil {
		w.groups.members[is.key] = map[types.UID]bool{}
	}
	w.groups.members[is.key][v.pod.UID] = true
	w.groups.dirty[is.key] = true
}

// podGroups takes over what PodGroups there are, or why that cannot be read, and has
// the groups looked at that go by one.
func (w *world) podGroups(why string, change func(least map[string]int32)) {
	w.groups.why = why
	change(w.groups.least)
	for key, members := range w.groups.members {
		for uid := range members {
			if w.pods[uid].group.podGroup != "" {
				w.groups.dirty[key] = true
			}
		}
	}
}

// regroup tells of each group in which something changed which pods start together.
func (w *world) regroup() {
	for _, key := range slices.Sorted(maps.Keys(w.groups.dirty)) {
		if len(w.groups.members[key]) == 0 {
			delete(w.groups.members, key)
			continue
		}
		for _, v := range w.form(key) {
			w.tell(v)
		}
	}
	clear(w.groups.dirty)
}

// form gives the pods of a group that wait, each with its part. Of a group of which
// fewer run than are to start together the oldest that wait make it up, in one gang;
// those beyond wait until it has started, and then each starts by itself. A gang of
// which one is placed already stays as it is. One that has been placed counts, also
// once it is over, until it is deleted: a Job's failed pod need not come again as a
// gang.
func (w *world) form(key string) []*podView {
	var waiting []*podView
	assigned, started := int32(0), map[string]bool{}
	for uid := range w.groups.members[key] {
		v := w.pods[uid]
		switch {
		case v.placement != "" || v.pod.Spec.NodeName != "":
			if v.pod.DeletionTimestamp == nil {
				assigned++
			}
			if v.part != nil && v.part.gang != nil {
				started[v.part.gang.ID] = true
			}
		case !terminalOrGone(v.pod) && !Gated(v.pod) && !v.refused:
			waiting = append(waiting, v)
		}
	}
	slices.SortFunc(waiting, func(a, b *podView) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	all := waiting
	waiting = slices.DeleteFunc(slices.Clone(all), func(v *podView) bool {
		follows := v.part != nil && v.part.gang != nil && started[v.part.gang.ID]
		if follows {
			assigned++
		}
		return follows
	})
	if len(waiting) == 0 {
		return all
	}
	size, least, why := w.wanted(waiting[0].group)
	if why == "" {
		size, least = size-assigned, least-assigned
	}
	switch {
	case why != "":
		each(waiting, func(int) part { return part{until: why} })
	case size <= 1 || assigned > 0 && least <= 1: // it has started
		each(waiting, func(int) part { return part{} })
	case len(waiting) < int(size):
		each(waiting, func(int) part {
			return part{until: fmt.Sprintf("its gang %s waits for as many as %d pods", waiting[0].group.name, size)}
		})
	default:
		w.enlist(key, waiting[:size], least)
		each(waiting[size:], func(int) part {
			return part{until: fmt.Sprintf("its gang %s has not started yet", waiting[0].group.name)}
		})
	}
	return all
}

func each(pods []*podView, is func(i int) part) {
	for i, v := range pods {
		p := is(i)
		v.part = &p
	}
}

// wanted gives how many pods a group is to have and how many of them start together,
// or why that is not known.
func (w *world) wanted(g *group) (size, least int32, why string) {
	if g.podGroup == "" {
		return g.size, g.least, ""
	}
	if w.groups.why != "" {
		return 0, 0, fmt.Sprintf("its PodGroup %s cannot be read: %s; expected that, or the annotation %s", g.podGroup, w.groups.why, gangSizeNote)
	}
	n, known := w.groups.least[g.podGroup]
	if !known {
		return 0, 0, fmt.Sprintf("its PodGroup %s is not there", g.podGroup)
	}
	if n > poise.MaxGang {
		return 0, 0, fmt.Sprintf("its PodGroup %s: minMember: %d, expected at most %d", g.podGroup, n, poise.MaxGang)
	}
	return n, n, ""
}

// enlist makes a gang of pods that start together, the first least of them by index at
// one moment. Its id says which pods those are: with others it is another gang.
func (w *world) enlist(key string, members []*podView, least int32) {
	order := slices.Clone(members)
	slices.SortStableFunc(order, func(a, b *podView) int { // those without an index behind
		return cmp.Compare(uint32(a.group.hint), uint32(b.group.hint))
	})
	id := sha256.New()
	for _, v := range order {
		fmt.Fprintf(id, "%s\n", v.pod.UID)
	}
	gang := poise.Gang{ID: fmt.Sprintf("%s/%s", w.reader.Cluster, hex.EncodeToString(id.Sum(nil)[:12])), Size: int32(len(order)), Name: order[0].group.name}
	if least = max(least, 1); least < gang.Size {
		gang.Min = least
	}
	each(order, func(i int) part {
		own := gang
		own.Index = int32(i)
		return part{gang: &own}
	})
}

// podGroupSeen takes in a PodGroup, and podGroupGone that it is gone.
func (w *world) podGroupSeen(g *podGroup) {
	w.podGroups("", func(least map[string]int32) { least[g.Namespace+"/"+g.Name] = g.Spec.MinMember })
}

func (w *world) podGroupGone(g *podGroup) {
	w.podGroups("", func(least map[string]int32) { delete(least, g.Namespace+"/"+g.Name) })
}

// ours says whether a pod asks for Poise.
func (w *world) ours(p *v1.Pod) bool { return p.Spec.SchedulerName == w.scheduler }

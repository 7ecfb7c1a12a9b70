package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// PodKind is what rules about pods can tell of a job or an occupant, and what its
// own rules say: two of one kind are interchangeable for them. It is read by the
// goroutine that owns the State only.
type PodKind struct {
	ID     uint32 // never used again
	Labels []poise.Label
	Pod    *poise.Pod

	key  string
	refs int                 // jobs and occupants
	on   map[uint32]podCount // by row, those that hold part of its node
}

// podCount counts tasks and occupants of one kind on one row.
type podCount struct{ all, ending int32 }

// podKinds holds one PodKind per distinct pod.
type podKinds struct {
	byKey map[string]*PodKind
	next  uint32
}

// acquire gives the kind of a pod and counts one more user, or gives nil for what
// is no pod.
func (k *podKinds) acquire(pod *poise.Pod, labels []poise.Label) *PodKind {
	if pod == nil {
		return nil
	}
	// Plain data: it cannot fail, and its text is the same for what is equal.
	key, err := json.Marshal(struct {
		Pod    *poise.Pod
		Labels []poise.Label
	}{pod, labels})
	if err != nil {
		panic(fmt.Sprintf("BUG: a pod cannot be written: %v", err))
	}
	kind := k.byKey[string(key)]
	if kind == nil {
		k.next++
		kind = &PodKind{ID: k.next, Labels: slices.Clone(labels), Pod: pod, key: string(key), on: map[uint32]podCount{}}
		k.byKey[kind.key] = kind
	}
	kind.refs++
	return kind
}

// release counts one user less. A kind without users is forgotten.
func (k *podKinds) release(kind *PodKind) {
	if kind == nil {
		return
	}
	if kind.refs--; kind.refs == 0 {
		delete(k.byKey, kind.key)
	}
}

// count adds n to those of the kind on a row.
func (k *PodKind) count(row uint32, n int32, ending bool) {
	if k == nil {
		return
	}
	c := k.on[row]
	c.all += n
	if ending {
		c.ending += n
	}
	if c == (podCount{}) {
		delete(k.on, row)
	} else {
		k.on[row] = c
	}
}

// pod gives what a job of the kind was submitted with.
func (k *PodKind) pod() *poise.Pod {
	if k == nil {
		return nil
	}
	return k.Pod
}

// Each calls f with the rows that tasks and occupants of the kind hold part of, in
// no order, with how many do, and how many of these are told to end.
func (k *PodKind) Each(f func(row uint32, all, ending int32)) {
	for row, c := range k.on {
		f(row, c.all, c.ending)
	}
}

// Keeps says whether a rule of the kind has others keep away from it.
func (k *PodKind) Keeps() bool {
	return slices.ContainsFunc(k.Pod.Rules, func(r poise.PodRule) bool { return r.Apart && r.Required() })
}

// PodKinds gives the kinds of which a task or an occupant is on a node, by ID.
func (s *State) PodKinds() []*PodKind {
	var present []*PodKind
	for _, kind := range s.podKinds.byKey {
		if len(kind.on) > 0 {
			present = append(present, kind)
		}
	}
	slices.SortFunc(present, func(a, b *PodKind) int { return cmp.Compare(a.ID, b.ID) })
	return present
}

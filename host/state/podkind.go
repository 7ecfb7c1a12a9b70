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
	byKey   map[string]*PodKind
	next    uint32
	present []*PodKind // of which a task or an occupant is on a node, by ID
	ruled   []*PodKind // of these, those that have rules about others
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

// count adds n to those of a kind on a row. What is no pod has none.
func (k *podKinds) count(kind *PodKind, row uint32, n int32, ending bool) {
	if kind == nil {
		return
	}
	was := len(kind.on) > 0
	c := kind.on[row]
	c.all += n
	if ending {
		c.ending += n
	}
	if c == (podCount{}) {
		delete(kind.on, row)
	} else {
		kind.on[row] = c
	}
	if is := len(kind.on) > 0; is != was {
		k.present = listed(k.present, kind, is)
		if len(kind.Pod.Rules) > 0 {
			k.ruled = listed(k.ruled, kind, is)
		}
	}
}

// listed puts a kind into a list by ID, or takes it out.
func listed(list []*PodKind, kind *PodKind, in bool) []*PodKind {
	at, _ := slices.BinarySearchFunc(list, kind, func(a, b *PodKind) int { return cmp.Compare(a.ID, b.ID) })
	if in {
		return slices.Insert(list, at, kind)
	}
	return slices.Delete(list, at, at+1)
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

// PodKinds gives the kinds of which a task or an occupant is on a node, by ID. They
// are valid until the next Apply.
func (s *State) PodKinds() []*PodKind { return s.podKinds.present }

// RuledKinds gives those of them that have rules about others.
func (s *State) RuledKinds() []*PodKind { return s.podKinds.ruled }

package model

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// keepIDs gives classes the id and the name of the class of the previous model
// that they continue: that with more than half of the nodes of both in common
// (Jaccard index above 1/2). At most one class can have so much in common with
// another, on either side, so no assignment problem is left to solve. A node
// counts for the class that the previous model puts it into now, which is the
// one it wears as a label, whether it was there at the previous build or came
// since; provisional ones count for none. A pinned class continues the pinned
// class of its name, whatever is in it.
func keepIDs(classes []Class, nodes []poise.Node, of []int, previous *Model) {
	if previous == nil {
		return
	}
	type pair struct {
		was ClassID
		now int
	}
	common := map[pair]int{}
	for i := range nodes {
		common[pair{previous.Assign(&nodes[i]).Class, of[i]}]++
	}
	worn := map[ClassID]int{}
	labelled := make([]int, len(classes))
	for p, n := range common {
		if p.was != 0 {
			worn[p.was] += n
			labelled[p.now] += n
		}
	}
	for i := range previous.Classes {
		old := &previous.Classes[i]
		for c := range classes {
			class := &classes[c]
			both := common[pair{old.ID, c}]
			continues := !class.Pinned && !old.Pinned && 2*both > worn[old.ID]+labelled[c]-both
			if continues || class.Pinned && old.Pinned && class.Name == old.Name {
				class.ID, class.Name = old.ID, old.Name
			}
		}
	}
}

// giveIDs gives new classes the ids from next on, the largest class first, and
// returns the next after them.
func giveIDs(classes []Class, next ClassID) ClassID {
	for _, c := range largestFirst(classes) {
		if classes[c].ID == 0 {
			classes[c].ID = next
			next++
		}
	}
	return next
}

// largestFirst gives the positions of classes by falling number of nodes.
func largestFirst(classes []Class) []int {
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(classes[b].Nodes, classes[a].Nodes) })
	return order
}

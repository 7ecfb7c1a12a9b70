package shadow

import (
	"cmp"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sched"
)

// maxMembers bounds the members that a difference shows.
const maxMembers = 16

// GangDifference is how two policies differ on a gang that was to start.
type GangDifference struct {
	Tasks   int32    // members that start together
	Differ  int32    // of these, members that go elsewhere; all where only one policy starts the gang
	Members []Member // the first of those that differ, by index
}

// Member is a member of a gang that two policies choose differently for.
type Member struct {
	Job         poise.JobID // "" where no policy places it
	Index       int32
	Live, Would Choice
}

// Same says whether two policies choose the same node and devices, for a gang member
// by member, or none for as good as ever or never.
func Same(live, would *sched.GangPlan) bool {
	return same(&live.Decision, &would.Decision) && slices.EqualFunc(live.Members, would.Members, func(a, b poise.Decision) bool { return same(&a, &b) })
}

func same(live, would *poise.Decision) bool {
	return live.Verdict == would.Verdict && live.Node == would.Node && slices.Equal(live.Devices, would.Devices)
}

// Apart gives the decisions by which two that are not the same are compared. For a
// gang they are about the first member, in the order in which members are placed, on
// which they differ, so that both policies saw the same nodes; where only one starts
// the gang, about the member that the other has no place for.
func Apart(live, would *sched.GangPlan) (l, w *poise.Decision) {
	switch {
	case live.Members == nil && would.Members == nil:
		return &live.Decision, &would.Decision
	case would.Members == nil:
		return memberOf(live, &would.Decision), &would.Decision
	case live.Members == nil:
		return &live.Decision, memberOf(would, &live.Decision)
	}
	at := -1
	for i := range live.Members {
		if !same(&live.Members[i], &would.Members[i]) && (at < 0 || live.Members[i].Gang.Fitted < live.Members[at].Gang.Fitted) {
			at = i
		}
	}
	at = max(at, 0)
	return &live.Members[at], &would.Members[at]
}

// memberOf gives the decision of a gang that starts about the member that another
// decision found no place for.
func memberOf(plan *sched.GangPlan, without *poise.Decision) *poise.Decision {
	if g := without.Gang; g != nil && int(g.Index) < len(plan.Members) {
		return &plan.Members[g.Index]
	}
	return &plan.Members[0]
}

// gangDifference gives what differs of a gang, nil for a single job.
func gangDifference(live, would *sched.GangPlan) *GangDifference {
	part := cmp.Or(live.Decision.Gang, would.Decision.Gang)
	if part == nil {
		return nil
	}
	g := &GangDifference{Tasks: part.Min}
	for i := range max(len(live.Members), len(would.Members)) {
		l, w := member(live, i), member(would, i)
		if same(l, w) {
			continue
		}
		if g.Differ++; len(g.Members) < maxMembers {
			id := l.Job
			if live.Members == nil {
				id = w.Job
			}
			g.Members = append(g.Members, Member{Job: id, Index: int32(i), Live: ChoiceOf(l), Would: ChoiceOf(w)})
		}
	}
	return g
}

// member gives the decision about a member, or the one that speaks for all.
func member(plan *sched.GangPlan, i int) *poise.Decision {
	if plan.Members == nil {
		return &plan.Decision
	}
	return &plan.Members[i]
}

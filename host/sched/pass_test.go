package sched

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// kept is a bar that refuses rows for one reason, and may list them.
type kept struct {
	rows   []uint32
	reason poise.Reason
}

func (k kept) Refuses(row uint32) poise.Reason {
	if slices.Contains(k.rows, row) {
		return k.reason
	}
	return 0
}

type listed struct{ kept }

func (l listed) Rows() []uint32 { return l.rows }

var reserved = poise.NewReason(poise.Reserved, 0)

// A pass with bars decides as one on a fleet without the nodes that they refuse,
// whether the bars list their rows or are asked about each: the same node,
// devices and ranking, and one more refusal per barred node.
func TestBarsLeaveTheRestAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		all, rest := newWorld(t), newWorld(t)
		var names []string
		for i := range rapid.IntRange(1, 24).Draw(t, "nodes") {
			n := drawNode(t, fmt.Sprint("n", i))
			all.join(n)
			if names = append(names, n.Name); rapid.IntRange(0, 2).Draw(t, "barred") == 0 {
				names = names[:i]
				names = append(names, "")
			} else {
				rest.join(n)
			}
		}
		var bars []Bar
		for _, reason := range []poise.Reason{reserved, busy} {
			var rows []uint32
			for row, name := range names {
				if name == "" && (reason == busy || rapid.Bool().Draw(t, "reserved")) {
					rows = append(rows, uint32(row))
				}
			}
			if each := (kept{rows, reason}); rapid.Bool().Draw(t, "listed") {
				bars = append(bars, listed{each})
			} else {
				bars = append(bars, each)
			}
		}
		p, q := drawIndex(t, NewPipeline(policy)), NewPipeline(policy)
		for range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := drawJob(t)
			a, b := all.submit(j), rest.submit(j)
			plan := func(detail Detail) poise.Decision {
				d, err := p.Plan(all.state.View(), a, Pass{Now: 5, Detail: detail, Bars: bars})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			brief, got, every := plan(Brief), plan(Full), plan(All)
			want := mustPlan(t, q, rest.state.View(), b)
			if got.Now != 5 || got.Node != want.Node || got.Fitting != want.Fitting || !slices.Equal(got.Devices, want.Devices) ||
				(got.Verdict == poise.Placed) != (want.Verdict == poise.Placed) {
				t.Fatalf("decided %+v, expected %+v", got, want)
			}
			if brief.Node != got.Node || brief.Verdict != got.Verdict || brief.Fitting != got.Fitting || !slices.Equal(brief.Reasons, got.Reasons) {
				t.Fatalf("in brief %+v, in full %+v", brief, got)
			}
			if !reflect.DeepEqual(got.Ranked, want.Ranked) {
				t.Fatalf("ranked %+v, expected %+v", got.Ranked, want.Ranked)
			}
			refused, barred := 0, 0
			for _, c := range got.Refused {
				if refused += c.Nodes; c.Code == poise.Reserved {
					barred += c.Nodes
				}
			}
			if refused+got.Fitting != got.Nodes || len(every.Refusals) != refused || len(every.Ranked) != every.Fitting {
				t.Fatalf("%d refused, %d by name, and %d fitting of %d nodes", refused, len(every.Refusals), got.Fitting, got.Nodes)
			}
			if (got.Verdict == poise.BehindOthers) != (got.Fitting == 0 && barred > 0) {
				t.Fatalf("%s: %d fitting, %d reserved", got.Verdict, got.Fitting, barred)
			}
			if got.Verdict == poise.Placed {
				all.commit(&got)
				rest.commit(&want)
			}
		}
	})
}

package shadow

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// Why a decision is worth a test.
const (
	Differs    = "differs"
	Faults     = "faults"
	NearTie    = "near tie"
	FirstShape = "first of its shape"
)

// Case is a decision that is worth a test of the plugin.
type Case struct {
	Why   string // one of the words above
	Index uint64 // of the last event that the decision had seen
	Job   poise.JobID
	Name  string
	Would Choice
	Fault bool // of the plugin
}

// nearTie is how near the losses of the two best candidates are, in parts of the
// larger one or of 1.
const nearTie = 1e-6

// consider keeps a case of the comparison where it is worth one: of each kind
// the latest, of the shapes the first. A gang gives none: a test case has one job.
func (t *Tally) consider(c *Compared, same bool) {
	why := ""
	switch {
	case c.Live.Decision.Gang != nil:
		return
	case len(c.Faults) > 0:
		why = Faults
	case !same:
		why = Differs
	case tied(&c.Would.Decision):
		why = NearTie
	case len(t.Shapes) < maxShapes && !slices.Contains(t.Shapes, c.Shape):
		why = FirstShape
	default:
		return
	}
	if len(t.Shapes) < maxShapes && !slices.Contains(t.Shapes, c.Shape) {
		t.Shapes = append(t.Shapes, c.Shape)
	}
	kind, first := 0, -1
	for i := range t.Cases {
		if t.Cases[i].Why != why {
			continue
		}
		if kind++; first < 0 {
			first = i
		}
	}
	if kind >= maxCases {
		if why == FirstShape {
			return
		}
		t.Cases = slices.Delete(t.Cases, first, first+1)
	}
	t.Cases = append(t.Cases, Case{Why: why, Index: c.Index, Job: c.Live.Decision.Job, Name: c.Name, Would: ChoiceOf(&c.Would.Decision), Fault: len(c.Faults) > 0})
}

func tied(d *poise.Decision) bool {
	if d.Verdict != poise.Placed || len(d.Ranked) < 2 || d.Ranked[0].Tier != d.Ranked[1].Tier {
		return false
	}
	a, b := d.Ranked[0].Loss, d.Ranked[1].Loss
	return b-a <= nearTie*max(1, a, -a, b, -b)
}

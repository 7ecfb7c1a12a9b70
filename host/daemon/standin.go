package daemon

import (
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/stack"
	"github.com/poise-sched/poise/host/state"
)

// standIn answers for plugins with what a decision recorded: it keeps the nodes
// of the short list, and has their losses and devices. Of a node that is not on
// the list it says only that the plugin did not put it there, as a refusal. What
// the plugins are shown is made anew, which runs none of them.
type standIn struct {
	guests  []*policy.Guest
	by      map[string]*poise.Ranked // by node
	devices bool                     // a plugin chose them
}

var (
	_ sched.Filter   = (*standIn)(nil)
	_ sched.Scorer   = (*standIn)(nil)
	_ sched.Preparer = (*standIn)(nil)
	_ sched.Shower   = (*standIn)(nil)
)

// Prepare implements sched.Preparer.
func (s *standIn) Prepare(snap *state.Snapshot, job *state.Job) (epoch uint64) {
	for _, g := range s.guests {
		epoch += g.Prepare(snap, job)
	}
	return epoch
}

// Show implements sched.Shower.
func (s *standIn) Show(row uint32) []poise.Reading {
	var all []poise.Reading
	for _, g := range s.guests {
		all = append(all, g.Show(row)...)
	}
	return all
}

// notListed is the reason code of the nodes that are not on the short list.
const notListed = 1

func (s *standIn) record(d *poise.Decision) {
	s.by = make(map[string]*poise.Ranked, len(d.Ranked))
	for i := range d.Ranked {
		s.by[d.Ranked[i].Node] = &d.Ranked[i]
	}
}

// Filter implements sched.Filter.
func (s *standIn) Filter(b *state.Batch, reasons []poise.Reason) error {
	for i, row := range b.Rows {
		if reasons[i] = 0; s.by[b.Snap.Name(row)] == nil {
			reasons[i] = poise.NewPolicyReason(0, notListed)
		}
	}
	return nil
}

// Score implements sched.Scorer.
func (s *standIn) Score(b *state.Batch, loss []float64, devices []uint32) error {
	for i, row := range b.Rows {
		was := s.by[b.Snap.Name(row)]
		if loss[i], devices[i] = was.Loss, 0; s.devices {
			for _, d := range was.Devices {
				devices[i] |= 1 << d
			}
		}
	}
	return nil
}

// rung is one of the policies that may have decided: the one in force, or one
// that stands in for it after a fault.
type rung struct {
	policy  sched.Policy // with a stand-in for the plugins
	standIn *standIn     // nil: there are none in it
}

// rungs gives the policies that may decide under a stack, in the order in which
// failures lead from one to the next.
func rungs(st *stack.Stack) []*rung {
	s := &standIn{}
	for i := range st.Layers {
		if g := st.Layers[i].Guest; g != nil {
			s.guests = append(s.guests, g)
			s.devices = s.devices || g.Module().Manifest.ChoosesDevices
		}
	}
	var all []*rung
	for p := &st.Policy; p != nil; {
		q := *p
		q.OnFailure, q.Fallback = sched.Abort, nil
		r := &rung{}
		if len(p.Filters) > 0 {
			q.Filters, r.standIn = []sched.Filter{s}, s
		}
		switch p.Scorer.(type) {
		case sched.Plugin, *sched.Combined:
			q.Scorer, r.standIn = s, s
			q.Filters = []sched.Filter{s} // it has losses for those on the list only
		}
		r.policy = q
		all = append(all, r)
		if p.OnFailure != sched.UseFallback {
			break
		}
		p = p.Fallback
	}
	return all
}

// fromRecord makes a decision again with the answers of plugins as they are
// recorded: the native filter has to keep each node of the short list, and order,
// ties, tiers, devices and the choice have to follow from the losses. field says
// what of the record leads nowhere.
func (r *replay) fromRecord(p *plans, was *poise.Decision, snap *state.Snapshot, job *state.Job, pass sched.Pass) (is poise.Decision, field string, err error) {
	rungs := p.rungs
	if was.Fault != "" && len(rungs) > 0 {
		rungs = rungs[1:] // the first one failed
	}
	for _, g := range rungs {
		if g.policy.Name != was.Policy {
			continue
		}
		if g.standIn != nil {
			g.standIn.record(was)
		}
		// What is kept of one stand-in's answers is not true of the next.
		is, err = sched.NewPipeline(g.policy).Plan(snap, job, pass)
		is.Fault = was.Fault
		if err == nil && g.standIn != nil {
			settleStandIn(was, &is)
		}
		return is, "", err
	}
	is.Policy = p.stack.Policy.Name
	if was.Policy == is.Policy {
		return is, "fault", nil // with which it cannot have decided
	}
	return is, "policy", nil
}

// settleStandIn tells the nodes that the stand-in knows nothing of from those
// that were refused: as many as fitted beside the short list did fit, and as many
// as were refused by plugins, or kept for others,
// were refused so. Only the sum can be checked.
func settleStandIn(was, is *poise.Decision) {
	unlisted := 0
	var counts []poise.ReasonCount
	for _, c := range is.Refused {
		if afterPlugins(c.Code) {
			unlisted += c.Nodes
			continue
		}
		counts = append(counts, c)
	}
	for _, c := range was.Refused {
		if afterPlugins(c.Code) {
			counts = append(counts, c)
			unlisted -= c.Nodes
		}
	}
	is.Refused = counts
	is.Fitting += unlisted
}

// afterPlugins says whether a node with this reason passed the native filters: of
// such a node a stand-in knows nothing.
func afterPlugins(c poise.ReasonCode) bool { return c >= poise.PolicyRefused }

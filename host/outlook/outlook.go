package outlook

import (
	"strconv"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/sim"
)

// Outlook is a forecast that can be told to somebody.
type Outlook struct {
	*sim.Forecast
	known map[poise.JobID]name
	own   map[poise.JobID]bool
}

// Own tells what becomes of the jobs that were submitted, to their tenant or, where
// viewer is "", to an operator.
func (o *Outlook) Own(viewer poise.TenantID) client.Outlook {
	out := client.Outlook{
		From: client.At(o.From), Until: client.At(o.Until), Cut: string(o.Cut), Endless: o.Endless, Overdue: o.Overdue, Jobs: []client.Expectation{},
	}
	for i := range o.Jobs {
		if e := &o.Jobs[i]; o.own[e.Job] {
			x := o.tell(e, viewer)
			if e.First != nil {
				x.Decision = client.NewDecision(e.First)
			}
			out.Jobs = append(out.Jobs, x)
		}
	}
	return out
}

// Of tells what becomes of one job, nil where it does not wait.
func (o *Outlook) Of(id poise.JobID, viewer poise.TenantID) *client.Expectation {
	for i := range o.Jobs {
		if o.Jobs[i].Job == id {
			x := o.tell(&o.Jobs[i], viewer)
			return &x
		}
	}
	return nil
}

// tell hides the names of other tenants' jobs.
func (o *Outlook) tell(e *sim.Expected, viewer poise.TenantID) client.Expectation {
	of := o.known[e.Job]
	x := client.Expectation{Job: of.job, Tenant: string(of.tenant), Note: o.note(e)}
	if e.Placed {
		x.Start, x.Node = client.At(e.Start), e.Node
		for _, d := range e.Devices {
			x.Devices = append(x.Devices, int(d))
		}
	} else if o.Cut != sim.Done && !e.Over {
		x.NotBefore = client.At(o.Until)
	}
	for _, id := range e.Preempts {
		if victim := o.known[id]; viewer == "" || victim.tenant == viewer {
			x.Preempts = append(x.Preempts, victim.job)
		} else {
			x.Others++
		}
	}
	return x
}

// note says in words what is expected, and on what that rests.
func (o *Outlook) note(e *sim.Expected) string {
	switch {
	case e.Placed && e.Start == o.From:
		return "starts at once"
	case e.Placed && o.Overdue > 0:
		return "if what has run longer than it said, " + several(o.Overdue, "task") + ", ends now"
	case e.Placed:
		return ""
	case e.Over:
		return "its deadline comes before there is room"
	case e.Decision == nil && o.Cut == sim.Done:
		return "it is held, or comes after a job that does not end"
	case e.Decision != nil && e.Decision.Verdict == poise.NeverFits:
		return e.Decision.Verdict.String()
	case o.Cut == sim.AtHorizon:
		return "the forecast looks no further ahead"
	case o.Cut != sim.Done:
		return "the forecast came no further in the time and with the fuel it may take"
	case o.Endless > 0:
		return several(o.Endless, "running task") + " without a run time"
	}
	return "nothing that is known to happen lets it start"
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

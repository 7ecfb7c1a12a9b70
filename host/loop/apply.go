package loop

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/state"
)

// Apply makes an event part of the state and tells the queue. An event that the
// state refuses changes neither.
func (l *Loop) Apply(ev poise.Event) error {
	help := l.helped(ev.Body) | l.helpsReserved(ev.Body)
	row, onRow := l.freedRow(ev.Body)
	known := l.state.Job(jobOf(ev.Body))
	later := l.later(ev.Body)
	gang := l.gangOf(ev.Body)
	whole := gang != nil && !gang.Started
	if err := l.state.Apply(ev); err != nil {
		return err
	}
	if id := jobOf(ev.Body); id != "" {
		l.deadlines.set(id, l.state.Job(id))
		delete(l.reserved.refused, id)
	}
	switch b := ev.Body.(type) {
	case poise.JobPlaced, poise.JobSpared:
		l.hungry.fresh = true
	case poise.GangPlaced:
		l.hungry.fresh = true
		for i := range b.Placements {
			delete(l.reserved.refused, b.Placements[i].Job)
			l.deadlines.set(b.Placements[i].Job, l.state.Job(b.Placements[i].Job))
		}
	case poise.JobHeld:
		l.unlist(l.state.Job(b.Job))
	case poise.JobReleased:
		return l.push(l.state.Job(b.Job))
	case poise.JobPrioritySet:
		for _, kin := range l.state.Kin(l.state.Job(b.Job)) {
			if err := l.prioritised(kin); err != nil {
				return err
			}
		}
	case poise.JobSubmitted:
		return l.push(l.state.Job(b.Job.ID))
	case poise.JobAdopted:
		return l.adopted(l.state.Job(b.Job.ID))
	case poise.JobRequeued:
		if gang != nil && !gang.Started { // regroup does
			break
		}
		if err := l.push(l.state.Job(b.Job)); err != nil {
			return err
		}
	case poise.ReservationMade:
		if err := l.apart(l.state.Job(b.Job)); err != nil {
			return err
		}
	case poise.JobWithdrawn:
		l.unlist(known)
		l.shapes.forget(known)
	case poise.JobFinished:
		l.shapes.forget(known)
	}
	if gang != nil && (whole || !gang.Started) {
		if err := l.regroup(gang); err != nil {
			return err
		}
	}
	for _, id := range later {
		if err := l.push(l.state.Job(id)); err != nil {
			return err
		}
	}
	if help != 0 {
		may := l.mayFit(row)
		for _, each := range l.lists {
			if onRow {
				each.queue.WakeRow(help, row, ev.Index, may)
			} else {
				each.queue.Wake(help, ev.Index)
			}
		}
	}
	return nil
}

// jobOf gives the job that an event has come, start, end or wait again.
func jobOf(body poise.Body) poise.JobID {
	switch b := body.(type) {
	case poise.JobSubmitted:
		return b.Job.ID
	case poise.JobAdopted:
		return b.Job.ID
	case poise.JobPlaced:
		return b.Placement.Job
	case poise.JobFinished:
		return b.Job
	case poise.JobRequeued:
		return b.Job
	case poise.JobWithdrawn:
		return b.Job
	}
	return ""
}

// later gives the jobs that come after one that ends.
func (l *Loop) later(body poise.Body) []poise.JobID {
	switch b := body.(type) {
	case poise.JobFinished:
		return l.state.Later(b.Job)
	case poise.JobWithdrawn:
		return l.state.Later(b.Job)
	}
	return nil
}

// helped gives what an event may change for the better, as the state is before
// it.
func (l *Loop) helped(body poise.Body) queue.Causes {
	switch b := body.(type) {
	case poise.JobFinished:
		return l.freed(l.state.Job(b.Job))
	case poise.JobRequeued:
		return l.freed(l.state.Job(b.Job))
	case poise.JobPlaced:
		return ofPod(l.state.Job(b.Placement.Job))
	case poise.GangPlaced:
		help := queue.Causes(0)
		for i := range b.Placements {
			help |= ofPod(l.state.Job(b.Placements[i].Job))
		}
		return help
	case poise.SpaceSet, poise.JobEnding, poise.JobAdopted:
		return queue.Pods
	case poise.NodeOccupied:
		return queue.Pods | l.vacated(b.Occupant.ID)
	case poise.NodeVacated:
		return l.vacated(b.ID)
	case poise.NodeJoined, poise.NodeChanged, poise.ModelBuilt:
		return ^queue.Causes(0)
	case poise.NodeMarked:
		return queue.Marked
	case poise.NodeLeft, poise.TenantSet, poise.TenantRemoved:
		return queue.Quota
	}
	return 0
}

// freed gives what the end of a job's task may help.
func (l *Loop) freed(j *state.Job) queue.Causes {
	if j == nil {
		return 0
	}
	return queue.Quota | l.room(&j.Shape.Request) | ofPod(j)
}

// ofPod gives what it may help that a job starts or ends, where it is a pod then.
func ofPod(j *state.Job) queue.Causes {
	if j != nil && (j.Kind != nil || j.BecomesPod()) {
		return queue.Pods
	}
	return 0
}

// vacated gives what it may help that an occupant is gone.
func (l *Loop) vacated(id string) queue.Causes {
	if o := l.state.Occupant(id); o != nil {
		return queue.Pods | l.room(&o.Request)
	}
	return 0
}

// room gives what it may help that as much is idle again.
func (l *Loop) room(r *poise.Request) queue.Causes {
	help := queue.Causes(0)
	if r.Device.Count > 0 {
		help |= queue.Devices
	}
	for _, a := range r.Amounts {
		if dim := slices.Index(l.state.View().Dims(), a.Name); a.Value > 0 && dim >= 0 {
			help |= queue.Dimension(dim)
		}
	}
	return help
}

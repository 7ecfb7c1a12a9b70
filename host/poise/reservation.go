package poise

import "fmt"

// ReservationMade keeps nodes for a job that could not be placed: from now on
// other jobs take of them only what does not delay it. It replaces what was kept
// for the job before. It ends with ReservationEnded, or when the job is placed,
// held or forgotten.
type ReservationMade struct {
	Job JobID // of a gang its first member
	// Nodes are where it is to start; of a gang those of its members, by index.
	Nodes []string
	// Start is when enough of the nodes is expected to be free, by the run times
	// that were declared; 0 = not known: some of what is in the way has none.
	Start Time `json:",omitempty"`
}

// ReservationEnded gives up what is kept for a job.
type ReservationEnded struct{ Job JobID }

// EventKind implements Body.
func (ReservationMade) EventKind() string { return "reservation-made" }

// EventKind implements Body.
func (ReservationEnded) EventKind() string { return "reservation-ended" }

// MaxReservations bounds how many there are at a time.
const MaxReservations = 64

// Validate checks what can be checked without a fleet.
func (r *ReservationMade) Validate() error {
	op := fmt.Sprintf("reserve for job %q", r.Job)
	if len(r.Nodes) == 0 || len(r.Nodes) > MaxGang {
		return invalid(op, fmt.Sprintf("nodes: %d, expected 1 to %d", len(r.Nodes), MaxGang))
	}
	if r.Start < 0 {
		return invalid(op, fmt.Sprintf("start: %d ms, expected 0 or more", r.Start))
	}
	return nil
}

package state

// Batch is what a filter or a scorer is asked about: one job and some rows of
// one snapshot, every row Present. The answers are arrays parallel to Rows.
type Batch struct {
	Snap *Snapshot
	Job  *Job
	Rows []uint32
}

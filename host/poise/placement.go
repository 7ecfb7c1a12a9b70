package poise

// Placement is a committed decision: which node holds the job, and which of
// its devices by index.
type Placement struct {
	Job     JobID
	Node    string
	Devices []uint16 // ascending; empty for a job without devices
}

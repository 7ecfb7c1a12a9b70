package store

// Record is one event of the log.
type Record struct {
	Seq    uint64 // position in the log, from 1, no gaps
	Kind   string // what Body is, for whoever reads it
	Schema int    // version of Body's form
	At     int64  // ms since the Unix epoch
	Body   []byte
}

// Batch is what becomes durable together, in one transaction, or not at all.
// Rows replace those of the same identity. A body that is empty comes back nil.
type Batch struct {
	Records    []Record
	Jobs       []JobRow
	Placements []PlacementRow
	Decisions  []DecisionRow
	Keys       []KeyRow
	Audit      []AuditRow // in their order
}

// JobRow is what history knows of a job, by ID.
type JobRow struct {
	ID, Name, Tenant, State string
	Seq                     int64 // of the event that it arrived with
	Submitted, Changed      int64 // ms since the Unix epoch
	Node, Reason            string
	ExitCode                *int32
	Signal                  string // name of the signal that ended its task, "" = none
	Attempts                int64  // how often a place was looked for
	Body                    []byte // the job as it was submitted
	Decision                []byte // the latest that found no place, nothing where it has one
	Group, GroupName        string // id and name of what it was submitted as a part of, "" = of nothing
}

// PlacementRow is one attempt to run a job on a node, by ID.
type PlacementRow struct {
	ID, Job, Node          string
	Devices                []uint16
	Placed, Started, Ended int64 // ms since the Unix epoch, 0 = not yet
	State                  string
	Decision               uint64 // Seq of the DecisionRow behind it
	ExitCode               *int32 // of its ended task, nil where nobody knows
	Signal, Detail         string // what ended its task, and why
}

// DecisionRow is one scheduling choice, by Seq.
type DecisionRow struct {
	Seq               uint64 // of the event that committed it
	Job, Node, Policy string
	Tenant            string // the job's
	At                int64  // ms since the Unix epoch
	Snapshot, Commit  uint64
	Body              []byte // the whole decision
}

// KeyRow remembers which job a client's request made, by Tenant and Key, so
// that the request sent again makes no second one.
type KeyRow struct {
	Key, Tenant, Job string
	Hash             []byte // of the request, to tell a repetition from a mix-up
	At               int64  // ms since the Unix epoch
}

// maxBody keeps one body far below what a row of SQLite can hold.
const maxBody = 64 << 20

// size is about what the batch takes in the log, and whether each body is small
// enough.
func (b *Batch) size() (bytes int, ok bool) {
	ok = true
	add := func(body []byte) {
		bytes += len(body)
		ok = ok && len(body) <= maxBody
	}
	for i := range b.Records {
		add(b.Records[i].Body)
	}
	for i := range b.Jobs {
		add(b.Jobs[i].Body)
		add(b.Jobs[i].Decision)
	}
	for i := range b.Decisions {
		add(b.Decisions[i].Body)
	}
	for i := range b.Keys {
		add(b.Keys[i].Hash)
	}
	return bytes, ok
}

package client

import "time"

// JobState is how far a job has come.
type JobState string

// The states of a job. The last four are ends.
const (
	Waiting   JobState = "waiting"
	Starting  JobState = "starting" // placed, and its task does not run yet
	Running   JobState = "running"
	Succeeded JobState = "succeeded"
	Failed    JobState = "failed"
	Lost      JobState = "lost"      // it runs no longer, and nobody knows how it ended
	Withdrawn JobState = "withdrawn" // cancelled before it was placed
)

// Ended says whether the state is an end.
func (s JobState) Ended() bool {
	return s == Succeeded || s == Failed || s == Lost || s == Withdrawn
}

// Job is a job as the daemon knows it.
type Job struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Tenant    string       `json:"tenant"`
	State     JobState     `json:"state" enum:"waiting,starting,running,succeeded,failed,lost,withdrawn"`
	Reason    string       `json:"reason,omitempty" doc:"Why it waits, in a line"`
	Spec      JobSpec      `json:"spec"`
	Attempts  int          `json:"attempts" doc:"How often a place was looked for; in a list, as of the last change of what it waits for"`
	Placement string       `json:"placement,omitempty" doc:"Identifies its task for good"`
	Node      string       `json:"node,omitempty"`
	Devices   []uint16     `json:"devices,omitempty" doc:"Indexes of the node's devices that it holds"`
	Submitted time.Time    `json:"submitted"`
	Placed    time.Time    `json:"placed,omitzero"`
	Started   time.Time    `json:"started,omitzero"`
	Ended     time.Time    `json:"ended,omitzero"`
	ExitCode  *int32       `json:"exit_code,omitempty" doc:"Of an ended task; 128 and the number of the signal that ended it"`
	Signal    string       `json:"signal,omitempty" doc:"Name of the signal that ended it"`
	Detail    string       `json:"detail,omitempty" doc:"Why it ended as it did; nothing where by itself"`
	Held      string       `json:"held,omitempty" doc:"Who holds it"`
	Array     *Array       `json:"array,omitempty" doc:"The array that it is an element of, or that it is as a whole"`
	Failures  int          `json:"failures,omitempty" doc:"How many tasks of it failed or were lost; not in a list"`
	Runs      []Run        `json:"runs,omitempty" doc:"Its latest tasks that have ended, the last one first; not in a list"`
	Reserved  *Reservation `json:"reserved,omitempty" doc:"What is kept for it while it waits; not in a list"`
	Order     *Order       `json:"order,omitempty" doc:"Its place in the order of its tenant's jobs while it waits; not in a list"`
}

// Array is what an element knows of its array. As a whole, an array is a job that
// has the array's id and name and sums its elements up; it has ended once all of
// them have.
type Array struct {
	ID       string           `json:"id"`
	Name     string           `json:"name"`
	Gang     bool             `json:"gang,omitempty" doc:"It is a gang: its elements start together"`
	Index    *int32           `json:"index,omitempty" doc:"Of the element, from 0; nothing for the whole"`
	Count    int32            `json:"count" doc:"How many elements there are"`
	Parallel int32            `json:"parallel,omitempty" doc:"How many at most run at a time"`
	States   map[JobState]int `json:"states,omitempty" doc:"How many elements are in each state; only for the whole"`
}

// Run is one task of a job that has ended.
type Run struct {
	Placement string    `json:"placement"`
	Node      string    `json:"node"`
	State     JobState  `json:"state"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	ExitCode  *int32    `json:"exit_code,omitempty"`
	Signal    string    `json:"signal,omitempty"`
	Detail    string    `json:"detail,omitempty"`
}

// MaxRuns bounds the tasks in an answer about a job.
const MaxRuns = 10

// Order is where a job's place among its tenant's waiting jobs comes from: the
// larger level goes first, among equals the larger request, then the earlier
// arrival.
type Order struct {
	Level    float64 `json:"level" doc:"Priority and age together"`
	Priority int32   `json:"priority"`
	Age      float64 `json:"age" doc:"In levels of priority: the time that it waits, divided by queue.step"`
	Devices  int64   `json:"devices_milli" doc:"What it asks for, of which the larger goes first: devices, then cpu, then memory"`
	CPU      int64   `json:"cpu_milli"`
	Memory   int64   `json:"memory_bytes"`
	Arrival  uint64  `json:"arrival" doc:"The earlier goes first"`
}

// JobAction is what is done to all jobs that a selector names.
type JobAction string

// The actions.
const (
	CancelJobs  JobAction = "cancel"
	HoldJobs    JobAction = "hold"
	ReleaseJobs JobAction = "release"
)

// Swept says how many jobs an action by selector changed.
type Swept struct {
	Jobs int `json:"jobs"`
}

// JobFilter says which jobs of a tenant are listed. They come in the order of
// submission, newest first.
type JobFilter struct {
	State JobState // "" = any
	Name  string   // "" = any
	Node  string   // "" = any
	// Selector is requirements on their labels as poise.ParseSelectors reads them, ""
	// = none.
	Selector string
	Limit    int    // at most so many, 1 to MaxPage
	After    string // JobPage.Next of the page before, "" = from the first
}

// JobPage is some of the jobs that were asked for.
type JobPage struct {
	Jobs []Job  `json:"jobs"`
	Next string `json:"next,omitempty" doc:"The parameter after of the next page; nothing where this is the last"`
}

// Pages hold DefaultPage items where nothing else is asked for, and MaxPage at
// most.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Why is a decision with the job that it was about.
type Why struct {
	Job      Job       `json:"job"`
	Attempt  int       `json:"attempt,omitempty" doc:"Which attempt it was, from 1; nothing for a plan"`
	At       time.Time `json:"at,omitzero"`
	Decision *Decision `json:"decision,omitempty" doc:"Nothing where no attempt was made yet"`
	Like     string    `json:"like,omitempty" doc:"The job that was tried, and asks for the same, where this one was not itself"`
	Waits    string    `json:"waits,omitempty" doc:"Why no job of the tenant is planned now"`
	Behind   *Behind   `json:"behind,omitempty" doc:"For whom nodes are kept that could hold it"`
	Queue    *Standing `json:"queue,omitempty" doc:"Where it stands in the queue, while it waits there"`
	// Expected is nothing where the daemon could not tell in time.
	Expected *Expectation `json:"expected,omitempty" doc:"When it is expected to start, while it waits"`
}

// Standing is where a job stands in the queue.
type Standing struct {
	Ahead       int      `json:"ahead" doc:"How many jobs of its tenant go before it"`
	More        bool     `json:"more,omitempty" doc:"There are more than that"`
	First       []string `json:"first,omitempty" doc:"Names of the first of them, in order"`
	OthersFirst bool     `json:"others_first" doc:"It is the turn of other tenants first"`
	Tenants     int      `json:"tenants,omitempty" doc:"Of how many; for operators"`
	Waiting     int      `json:"waiting,omitempty" doc:"How many jobs of other tenants wait in all; for operators"`
}

// LogOptions say what of a task's output is wanted.
type LogOptions struct {
	Follow bool      // go on until the task has ended
	Stream string    // stdout or stderr, "" = both
	Since  time.Time // lines written then or later, zero = all
	Tail   int       // only so many of the last lines that are there now, 0 = all
}

package local

import (
	"fmt"
	"path/filepath"

	"github.com/poise-sched/poise/host/poise"
)

// Options are what an engine needs to know.
type Options struct {
	Dir  string   // folder of the engine, for one daemon at a time; made where missing
	Shim []string // command that calls RunShim with the arguments added to it
	Now  func() poise.Time

	// LogLimit bounds the output kept of one task, and KeepLogs the output kept
	// of all forgotten tasks, oldest dropped first, in bytes. 0 stands for 16 MiB
	// and 1 GiB.
	LogLimit, KeepLogs int64

	// Isolate says whether a task may no longer run as the daemon's own user: there
	// are tenants that do not trust each other. It is asked at each Bind; nil
	// stands for never. Then each tenant's tasks run as a user of its own, whose
	// uid is FirstUID or above, or are refused where the daemon is not root.
	Isolate  func() bool
	FirstUID uint32 // 0 stands for 1,900,000,000, which nobody hands out

	// Cgroup is the cgroup v2 folder that is the daemon's to manage; "" stands
	// for the cgroup that the daemon is in.
	Cgroup string
}

// minLogLimit leaves each of a task's log files room for the longest record.
const minLogLimit = 128 << 10

// complete checks the options and fills in what was left out.
func (o Options) complete() (Options, error) {
	refuse := func(format string, args ...any) (Options, error) {
		return o, &poise.Error{Kind: poise.Invalid, Op: "open local engine", Detail: fmt.Sprintf(format, args...)}
	}
	if o.Dir == "" {
		return refuse("dir: empty, expected a folder")
	}
	abs, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = abs
	if len(o.Shim) == 0 || !filepath.IsAbs(o.Shim[0]) {
		return refuse("shim: %q, expected a command with an absolute path", o.Shim)
	}
	if o.Now == nil {
		return refuse("now: nil, expected a clock")
	}
	if o.FirstUID == 0 {
		o.FirstUID = 1_900_000_000 // of the range that systemd calls unused
	}
	if o.LogLimit == 0 {
		o.LogLimit = 16 << 20
	}
	if o.LogLimit < minLogLimit {
		return refuse("log_limit: %d bytes, expected %d or more", o.LogLimit, minLogLimit)
	}
	if o.KeepLogs == 0 {
		o.KeepLogs = 1 << 30
	}
	if o.KeepLogs < 0 {
		return refuse("keep_logs: %d bytes, expected 0 or more", o.KeepLogs)
	}
	return o, nil
}

// Facts say what this machine permits the engine to do for tasks.
type Facts struct {
	Cgroup string // cgroup v2 folder that the tasks' are made in, "" = none
	CPU    bool   // cpu limits hold
	Memory bool   // memory limits hold
	Why    string // why not all of it, for a person; "" = all of it
}

// Stream picks output.
type Stream uint8

// The streams of a task.
const (
	Both Stream = iota
	Stdout
	Stderr
)

// LogOptions say what of a task's output is wanted.
type LogOptions struct {
	Follow bool // go on until the task has ended
	Stream Stream
	Since  poise.Time // lines written then or later
	Tail   int        // only so many of the last lines that are there now; 0 = all
}

package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/poise"
)

// Record is a line of the Standard Workload Format, version 2 (Chapin et al.,
// Benchmarks and Standards for the Evaluation of Parallel Job Schedulers, JSSPP
// 1999; the page of the Parallel Workloads Archive). -1 means unknown in every
// field.
type Record struct {
	Number     int64 // of the job, from 1
	Submit     int64 // seconds since the start of the log
	Wait       int64 // seconds
	Run        int64 // seconds from start to end
	Processors int64 // that it was given
	CPUTime    int64 // seconds, mean over its processors
	Memory     int64 // KiB used, mean over its processors
	AskedProcs int64 // processors asked for
	AskedTime  int64 // seconds asked for
	AskedMem   int64 // KiB asked for, for each processor
	Status     int64 // 0 failed, 1 completed, 2 to 4 a part of a job, 5 cancelled
	User       int64
	Group      int64
	Executable int64
	Queue      int64
	Partition  int64
	Preceding  int64 // number of the job that has to end before this one comes
	ThinkTime  int64 // seconds between the end of that one and this submission
}

// field is a place in a line, in the order of the format.
type field struct {
	name     string
	at       func(*Record) *int64
	low      int64 // least value beside -1
	fraction bool  // archives have some with one, which is cut off
}

var fields = [...]field{
	{"job number", func(r *Record) *int64 { return &r.Number }, 1, false},
	{"submit time", func(r *Record) *int64 { return &r.Submit }, 0, true},
	{"wait time", func(r *Record) *int64 { return &r.Wait }, 0, true},
	{"run time", func(r *Record) *int64 { return &r.Run }, 0, true},
	{"allocated processors", func(r *Record) *int64 { return &r.Processors }, 0, false},
	{"average cpu time", func(r *Record) *int64 { return &r.CPUTime }, 0, true},
	{"used memory", func(r *Record) *int64 { return &r.Memory }, 0, true},
	{"requested processors", func(r *Record) *int64 { return &r.AskedProcs }, 0, false},
	{"requested time", func(r *Record) *int64 { return &r.AskedTime }, 0, true},
	{"requested memory", func(r *Record) *int64 { return &r.AskedMem }, 0, true},
	{"status", func(r *Record) *int64 { return &r.Status }, 0, false},
	{"user", func(r *Record) *int64 { return &r.User }, 0, false},
	{"group", func(r *Record) *int64 { return &r.Group }, 0, false},
	{"executable", func(r *Record) *int64 { return &r.Executable }, 0, false},
	{"queue", func(r *Record) *int64 { return &r.Queue }, 0, false},
	{"partition", func(r *Record) *int64 { return &r.Partition }, 0, false},
	{"preceding job", func(r *Record) *int64 { return &r.Preceding }, 0, false},
	{"think time", func(r *Record) *int64 { return &r.ThinkTime }, 0, true},
}

// maxValue bounds every field, as times are bounded elsewhere: to 272 years.
const maxValue = 1 << 33

// unknown is a record of which nothing is known.
func unknown() Record {
	var r Record
	for _, f := range fields {
		*f.at(&r) = -1
	}
	return r
}

// Fault is what is wrong with a field of a line.
type Fault struct {
	Field string // name as in the definition of the format; "" for the line
	Value string
	Want  string
}

// ParseRecord reads a line that is neither empty nor a comment, and names what is
// wrong with the first field that is. Number and submit time may not be unknown.
func ParseRecord(line string) (Record, *Fault) {
	parts := strings.Fields(line)
	if len(parts) != len(fields) {
		return Record{}, &Fault{Value: fmt.Sprintf("%d fields", len(parts)), Want: strconv.Itoa(len(fields))}
	}
	var r Record
	for i, f := range fields {
		v, ok := parseValue(parts[i], f.fraction)
		if !ok || v > maxValue || v < f.low && (v != -1 || i < 2) {
			kind, or := "a whole number", " or -1"
			if f.fraction {
				kind = "a number"
			}
			if i < 2 {
				or = ""
			}
			return Record{}, &Fault{Field: f.name, Value: parts[i], Want: fmt.Sprintf("%s from %d to %d%s", kind, f.low, int64(maxValue), or)}
		}
		*f.at(&r) = v
	}
	return r, nil
}

// parseValue reads a whole number or, where one may stand, a decimal fraction.
func parseValue(text string, fraction bool) (int64, bool) {
	whole, rest, dot := strings.Cut(text, ".")
	if dot && (!fraction || rest == "" || strings.Trim(rest, "0123456789") != "") {
		return 0, false
	}
	v, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.HasPrefix(whole, "+") || dot && v < 0 && strings.Trim(rest, "0") != "" {
		return 0, false
	}
	return v, true
}

// Append writes the record as a line.
func (r *Record) Append(b []byte) []byte {
	for i, f := range fields {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, *f.at(r), 10)
	}
	return append(b, '\n')
}

// Ran says whether the record is of a job that ran, as a whole: not a part of one
// that stands on another line, and not one that never started.
func (r *Record) Ran() bool {
	return r.Run > 0 && r.processors() > 0 && (r.Status < 2 || r.Status > 4)
}

// ExitCode is how a job that ran has ended: 0 where it completed or nothing is said
// of it, 1 where it failed, and what TERM ends a task with where it was cancelled.
func (r *Record) ExitCode() int32 {
	switch r.Status {
	case 0:
		return 1
	case 5:
		return 128 + 15
	}
	return 0
}

// processors asked for or, where that is unknown, given.
func (r *Record) processors() int64 {
	if r.AskedProcs > 0 {
		return r.AskedProcs
	}
	return r.Processors
}

// Ask is how many processors a job that ran asks for, and how many bytes of memory
// for each of them: asked for or, where that is unknown, used, 0 where neither is
// known. ok is false where the memory of all is beyond an int64.
func (r *Record) Ask() (processors, memory int64, ok bool) {
	processors = r.processors()
	each := r.AskedMem
	if each <= 0 {
		each = max(r.Memory, 0)
	}
	if each > math.MaxInt64/1024/processors {
		return processors, 0, false
	}
	return processors, each * 1024, true
}

// Tenant is tenant-N for the user N, and the default tenant for an unknown one.
func (r *Record) Tenant() poise.TenantID {
	if r.User < 0 {
		return poise.DefaultTenant
	}
	return poise.TenantID(tenantPrefix + strconv.FormatInt(r.User, 10))
}

const tenantPrefix = "tenant-"

package manifest

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/workload"
)

// WriteJobs writes a workload as YAML that DecodeJobs reads back, a job or a gang a
// line.
func WriteJobs(to io.Writer, w *workload.Workload) error {
	var b []byte
	for i := range w.Jobs {
		if g := w.Jobs[i].Gang; g != nil && g.Index > 0 {
			continue // the first stands for all
		}
		b = appendJob(b[:0], &w.Jobs[i])
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func appendJob(b []byte, j *workload.Job) []byte {
	name := j.Name
	if j.Gang != nil {
		name = j.Gang.ID
	}
	b = append(b, "--- {job: "+name+", tenant: "+string(j.Tenant)...)
	if g := j.Gang; g != nil {
		b = append(b, ", tasks: "+strconv.Itoa(int(g.Size))...)
		if g.Min != g.Size {
			b = append(b, ", min_tasks: "+strconv.Itoa(int(g.Min))...)
		}
	}
	span := func(field string, s poise.Span) {
		if s > 0 {
			b = append(b, ", "+field+": "+(time.Duration(s)*time.Millisecond).String()...)
		}
	}
	span("submit", poise.Span(j.At))
	span("run_time", j.RunTime)
	span("took", j.Took)
	if j.Preceding != "" {
		b = append(b, ", after: ["+j.Preceding+"]"...)
	}
	b = append(b, ", request: {"...)
	for i, a := range j.Request.Amounts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, a.Name+": "+resource.Format(a.Name, a.Value)...)
	}
	if d := &j.Request.Device; d.Count > 0 {
		b = append(b, ", "+d.Kind+": "+strconv.Itoa(int(d.Count))...)
	}
	return append(b, "}}\n"...)
}

// WriteSWF writes a workload in the Standard Workload Format, a gang as one wide
// job, and gives how many of its jobs have devices, which that format has no place
// for: they are written without.
func WriteSWF(to io.Writer, w *workload.Workload) (devices int, err error) {
	header, records, devices := w.Records()
	b := header.Append(nil)
	for i := range records {
		b = records[i].Append(b)
		if _, err := to.Write(b); err != nil {
			return 0, fmt.Errorf("write job %d: %w", records[i].Number, err)
		}
		b = b[:0]
	}
	return devices, nil
}

package manifest

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/workload"
)

// decodeSWF reads jobs in the Standard Workload Format.
func decodeSWF(text *lines, found *problems, d decoder) error {
	jobs, ok := d.(*jobs)
	if !ok {
		found.add(0, "", "a workload in the Standard Workload Format", "a fleet")
		return nil
	}
	var header workload.Header
	for !found.full() {
		line, err := text.next()
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		var fault *workload.Fault
		switch {
		case len(line) == 0:
		case line[0] == ';':
			fault = header.Comment(string(line))
		default:
			var r workload.Record
			if r, fault = workload.ParseRecord(string(line)); fault == nil {
				jobs.record(text.number, &header, &r)
			}
		}
		if fault != nil {
			value := fault.Value
			if fault.Field != "" {
				value = quote(value)
			}
			found.add(text.number, fault.Field, value, fault.Want)
		}
	}
	return nil
}

// record takes a job that ran: each of its processors is a core. One wider than
// the header says a node is asks for a whole node: it is one task. Jobs that never
// ran and lines of parts of a job are passed over; nothing comes after those.
func (d *jobs) record(line int, h *workload.Header, r *workload.Record) {
	if !r.Ran() {
		return
	}
	processors, memory, ok := r.Ask(h.Width())
	if !ok {
		d.problems.add(line, "memory", fmt.Sprintf("%d KiB for each of %d processors", max(r.AskedMem, r.Memory), processors), "less than 2^63 bytes in all")
		return
	}
	job := Job{
		Job: poise.Job{
			Name: swfName(r.Number), Tenant: r.Tenant(), Tasks: 1,
			Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: processors * 1000}}},
			RunTime: poise.Span(max(r.AskedTime, 0)) * 1000,
		},
		Submit: poise.Time(r.Submit) * 1000,
		Took:   poise.Span(r.Run) * 1000,
	}
	if memory > 0 {
		job.Request.Amounts = append(job.Request.Amounts, resource.Amount{Name: "memory", Value: memory})
	}
	if _, known := d.names.line[swfName(r.Preceding)]; known {
		job.Task.After = []string{swfName(r.Preceding)}
	}
	d.add(line, "job number", job, 1, 0, copyName)
}

func swfName(number int64) string { return "job-" + strconv.FormatInt(number, 10) }

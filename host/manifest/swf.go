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
// the header says a node is is a gang: a member for each node that it fills, and
// one for what is left. Jobs that never ran and lines of parts of a job are passed
// over; nothing comes after those.
func (d *jobs) record(line int, h *workload.Header, r *workload.Record) {
	if !r.Ran() {
		return
	}
	processors, memory, ok := r.Ask()
	if !ok {
		d.problems.add(line, "memory", fmt.Sprintf("%d KiB for each of %d processors", max(r.AskedMem, r.Memory), processors), "less than 2^63 bytes in all")
		return
	}
	job := Job{
		Job: poise.Job{
			Name: swfName(r.Number), Tenant: r.Tenant(), Tasks: 1,
			RunTime: poise.Span(max(r.AskedTime, 0)) * 1000,
		},
		Submit: poise.Time(r.Submit) * 1000,
		Run:    Run{Took: poise.Span(r.Run) * 1000, ExitCode: r.ExitCode()},
	}
	if before, known := d.numbers[r.Preceding]; known {
		job.Task.AfterAny = []string{before}
	}
	width := h.Width()
	if width == 0 {
		width = processors
	}
	full, left := processors/width, processors%width
	if full+min(left, 1) > poise.MaxGang {
		d.problems.add(line, "processors", fmt.Sprintf("%d on nodes of %d", processors, width), fmt.Sprintf("at most %d nodes", poise.MaxGang))
		return
	}
	g := &gang{}
	if full > 0 {
		g.roles = append(g.roles, role{tasks: int(full), request: swfRequest(width, memory)})
	}
	if left > 0 {
		g.roles = append(g.roles, role{tasks: 1, request: swfRequest(left, memory)})
	}
	if full > 0 && left > 0 {
		g.roles[1].name = "rest"
	}
	g.spec.Size = int32(full + min(left, 1))
	g.spec.Min = g.spec.Size
	if first, twice := d.numbers[r.Number]; twice {
		d.problems.add(line, "job number", fmt.Sprintf("%s is given on line %d too", quote(job.Name), d.names.line[first]), "every name once")
		return
	}
	first := len(d.list)
	if d.addGang(line, "job number", job, g); len(d.list) == first {
		return
	}
	if d.numbers == nil {
		d.numbers = map[int64]string{}
	}
	d.numbers[r.Number] = d.list[first].Name // all its members end at one moment
}

// swfRequest asks for processors, each with so much memory.
func swfRequest(processors, memory int64) poise.Request {
	r := poise.Request{Amounts: resource.List{{Name: "cpu", Value: processors * 1000}}}
	if memory > 0 {
		r.Amounts = append(r.Amounts, resource.Amount{Name: "memory", Value: processors * memory})
	}
	return r
}

func swfName(number int64) string { return "job-" + strconv.FormatInt(number, 10) }

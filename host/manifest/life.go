package manifest

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
)

// Array says that a job is several equal ones, its elements.
type Array struct {
	Count    int32 // 1 to MaxArray
	Parallel int32 `json:",omitempty"` // how many at most run at a time, 0 = all
}

// MaxArray bounds the elements of an array.
const MaxArray = 10_000

// ElementName is the name of an element of an array of that name.
func ElementName(array string, index int) string { return fmt.Sprintf("%s-%d", array, index) }

func elementName(array string, index, _ int) string { return ElementName(array, index) }

// at gives the job as it is: in a run, with times made of the spans from Submit.
func (j Job) at(run bool) Job {
	if run && j.StartIn > 0 {
		j.StartBy, j.StartIn = j.Submit+poise.Time(j.StartIn), 0
	}
	if run && j.FinishIn > 0 {
		j.FinishBy, j.FinishIn = j.Submit+poise.Time(j.FinishIn), 0
	}
	return j
}

// inLines puts the elements of an array one behind the other, in as many lines as may
// run at a time.
func (a *Array) inLines(elements []Job) {
	for i := int(a.Parallel); i < len(elements) && a.Parallel > 0; i++ {
		t := &elements[i].Task
		t.AfterAny = append(t.AfterAny[:len(t.AfterAny):len(t.AfterAny)], elements[i-int(a.Parallel)].Name)
	}
}

// Retries are tried again after so long where a file does not say.
const (
	defaultBackoff    = poise.Span(10_000)
	defaultMaxBackoff = poise.Span(5 * 60_000)
)

// lifeFields are the fields of a job that are about its life.
var lifeFields = []string{"after_any", "after_failure", "array", "start_by", "finish_by", "retry", "hold", "labels"}

// jobLife reads what a job says about its life beside what jobTask reads.
func jobLife(o *object, job *Job) {
	job.Labels = nodeLabels(o)
	job.Retry = jobRetry(o)
	job.Array = jobArray(o)
	job.Hold = o.flag("hold", false)
	job.StartBy, job.StartIn = o.moment("start_by")
	job.FinishBy, job.FinishIn = o.moment("finish_by")
	if job.StartBy > 0 && job.FinishBy > 0 && job.StartBy > job.FinishBy || job.StartIn > 0 && job.FinishIn > 0 && job.StartIn > job.FinishIn {
		o.wrong("start_by", "at most finish_by")
	}
}

func jobRetry(o *object) *poise.Retry {
	r, ok := o.object("retry", "limit", "backoff", "max_backoff")
	if !ok {
		return nil
	}
	r.require("limit", "how often it is tried again, such as 3")
	retry := &poise.Retry{Limit: int32(r.integer("limit", 1, 1, poise.MaxRetries)), Backoff: defaultBackoff}
	if r.has("backoff") {
		retry.Backoff = r.span("backoff")
	}
	if retry.MaxBackoff = max(defaultMaxBackoff, retry.Backoff); r.has("max_backoff") {
		retry.MaxBackoff = r.span("max_backoff")
	}
	if r.has("backoff") && r.has("max_backoff") && retry.Backoff > retry.MaxBackoff {
		r.wrong("backoff", "at most max_backoff")
	}
	return retry
}

// jobArray reads a number of elements, alone or with how many run at a time.
func jobArray(o *object) *Array {
	n := o.values["array"]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return &Array{Count: int32(o.integer("array", 1, 1, MaxArray))}
	}
	a, _ := o.object("array", "count", "parallel")
	a.require("count", "how many elements, such as 100")
	return &Array{Count: int32(a.integer("count", 1, 1, MaxArray)), Parallel: int32(a.integer("parallel", 0, 1, MaxArray))}
}

// lastMoment is the end of the last year that RFC 3339 has.
var lastMoment = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// moment reads a time, or how far off it is from when the job is submitted; one of
// them is 0, or both where the field is not there.
func (o *object) moment(key string) (poise.Time, poise.Span) {
	n := o.values[key]
	if n == nil {
		return 0, 0
	}
	if n.Kind == yaml.ScalarNode {
		if at, err := time.Parse(time.RFC3339, n.Value); err == nil && at.UnixMilli() > 0 && at.Before(lastMoment) {
			return poise.Time(at.UnixMilli()), 0
		}
		if d, err := time.ParseDuration(n.Value); err == nil && d >= time.Millisecond && d%time.Millisecond == 0 {
			return 0, poise.Span(d / time.Millisecond)
		}
	}
	o.wrong(key, "a time such as 2026-12-01T08:00:00Z, or a span from the submission such as 90m")
	return 0, 0
}

// names reads a list of names or ids of jobs.
func (o *object) names(key string) []string {
	var names []string
	for i, n := range o.list(key) {
		text, ok := argument(n)
		if !ok || text == "" {
			o.found.add(n.Line, fmt.Sprintf("%s[%d]", key, i), describe(n), "the name or id of a job")
		}
		names = append(names, text)
	}
	return names
}

package workload

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// gangSizes are those of drawn gangs: what people ask for is a power of two.
var gangSizes = [...]int{2, 4, 8, 16, 32}

// gang draws how many members a gang has, and how many of them start together: of
// a quarter of the gangs half of them.
func gang(r random) (size, least int) {
	size = gangSizes[r.below(len(gangSizes))]
	if r.unit() < 0.25 {
		return size, size / 2
	}
	return size, size
}

// addGang adds the members of a gang, as many as there is room for; of one there is
// no gang. All run for the same time.
func (s *Spec) addGang(w *Workload, r random, job Job) {
	size, least := gang(r)
	size = min(size, s.Jobs-len(w.Jobs))
	job.Took = s.took(r)
	job.RunTime = s.declared(r, job.Took)
	job.Name = jobName(len(w.Jobs))
	job.ID = poise.JobID(job.Name)
	if size == 1 {
		w.Jobs = append(w.Jobs, job)
		return
	}
	whole := poise.Gang{ID: job.Name, Name: job.Name, Size: int32(size), Min: int32(min(least, size))}
	job.Tasks = whole.Size
	width := len(fmt.Sprint(size - 1))
	for i := range size {
		member := whole
		member.Index = int32(i)
		job.Name = fmt.Sprintf("%s-%0*d", whole.ID, width, i)
		job.ID, job.Gang = poise.JobID(job.Name), &member
		w.Jobs = append(w.Jobs, job)
	}
}

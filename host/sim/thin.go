package sim

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
)

// Thin keeps every n-th node of each make (equal capacity and devices), in
// order of name and starting in the middle of the first n, so that a make of
// half of n keeps one. n = 1 keeps all.
func Thin(nodes []poise.Node, n int) ([]poise.Node, error) {
	if n < 1 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "thin nodes", Detail: fmt.Sprintf("thin: %d, expected 1 or more", n)}
	}
	var kept []poise.Node
	seen := map[string]int{}
	for _, node := range sortedNodes(nodes) {
		make := fmt.Sprint(node.Capacity, node.Devices)
		if seen[make]%n == (n-1)/2 {
			kept = append(kept, node)
		}
		seen[make]++
	}
	return kept, nil
}

// Copy repeats the arrivals so often, each copy shifted by a time of its own
// between 0 and 24 hours, as are their deadlines. Copies get an id of their own and
// keep the name; they come after the same copies of what they come after, and are in a
// gang with the same copies of its members.
func Copy(arrivals []Arrival, copies int, seed int64) ([]Arrival, error) {
	if copies < 1 || copies > 1000 {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "copy jobs", Detail: fmt.Sprintf("copies: %d, expected 1 to 1000", copies)}
	}
	if copies == 1 {
		return arrivals, nil
	}
	random := rand.New(rand.NewSource(seed))
	const day = 24 * 60 * 60
	out := make([]Arrival, 0, copies*len(arrivals))
	for c := range copies {
		shift := poise.Time(random.Intn(day)) * 1000
		for _, a := range arrivals {
			a.At += shift
			for _, due := range []*poise.Time{&a.Job.StartBy, &a.Job.FinishBy} {
				if *due > 0 {
					*due += shift
				}
			}
			if c > 0 {
				mark(&a, "#"+strconv.Itoa(c))
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// mark gives a copy ids of its own.
func mark(a *Arrival, with string) {
	a.Job.ID += poise.JobID(with)
	for _, ids := range []*[]poise.JobID{&a.Job.After, &a.Needs.Any, &a.Needs.Failed} {
		*ids = slices.Clone(*ids)
		for i := range *ids {
			(*ids)[i] += poise.JobID(with)
		}
	}
	if a.Job.Gang != nil {
		g := *a.Job.Gang
		g.ID += with
		a.Job.Gang = &g
	}
}

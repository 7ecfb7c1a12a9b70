package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/queue"
	"github.com/poise-sched/poise/host/resource"
	"github.com/poise-sched/poise/host/sched"
)

// maxArrivals bounds the arrivals of one run: the device demand of a workload
// may be so small that filling a fleet with it would take for ever. An arrival
// takes about 250 bytes.
const maxArrivals = 5_000_000

// drawsBeforeOrder is how many draws the published experiment makes between
// the arrival list and the tie order. It was found by comparing all published
// values; see POLICIES.md of the published results.
const drawsBeforeOrder = 10

// Inflated is the arrival list of the published experiment and the tie order
// that goes with it.
type Inflated struct {
	Arrivals []Arrival
	Order    map[string]uint64 // number of a node by name, smaller wins a tie
}

// Inflate makes the arrival list of the published experiment (Weng et al.,
// USENIX ATC 2023): the jobs by name are shuffled, then jobs are removed or
// copies added until their device demand is the given multiple of the fleet's
// devices. The generator is Go's classic one. A copy has the name of its
// original and an id of its own. Jobs arrive one after the other at time 0, each by
// itself: after no others, in no gang, held by nobody, without deadlines.
func Inflate(nodes []poise.Node, jobs []Arrival, multiple float64, seed int64) (*Inflated, error) {
	fleet, err := fleetTotals(nodes)
	if err != nil {
		return nil, err
	}
	if err := checkInflate(fleet, jobs, multiple); err != nil {
		return nil, err
	}
	byName := slices.Clone(jobs)
	slices.SortFunc(byName, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.Job.Name, b.Job.Name), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	random := rand.New(rand.NewSource(seed))
	random.Int()
	list := slices.Clone(byName)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })

	demand, target := int64(0), multiple*float64(fleet[devicesDim])
	for i := range list {
		demand += list[i].Job.Request.Device.Total()
	}
	if float64(demand) > target {
		for float64(demand) > target {
			i := random.Intn(len(list))
			demand -= list[i].Job.Request.Device.Total()
			list = slices.Delete(list, i, i+1)
		}
	} else {
		// Known before any copy is made, as the copies are drawn evenly.
		tooMany := inflateError(fmt.Sprintf("jobs: more than %d arrivals to reach %v times the fleet's devices, expected fewer", maxArrivals, multiple))
		if target/float64(demand)*float64(len(list)) > maxArrivals {
			return nil, tooMany
		}
		copies := map[poise.JobID]int{}
		for {
			a := byName[random.Intn(len(byName))]
			// The published test adds one device's share, not all of them.
			if float64(demand+int64(a.Job.Request.Device.Milli)) > target {
				break
			}
			if len(list) == maxArrivals {
				return nil, tooMany
			}
			demand += a.Job.Request.Device.Total()
			copies[a.Job.ID]++
			a.Job.ID += poise.JobID("#" + strconv.Itoa(copies[a.Job.ID]))
			list = append(list, a)
		}
	}
	for i := range list {
		j := &list[i].Job
		list[i].At, j.After, j.Held, j.StartBy, j.FinishBy, j.Gang, j.Tasks = 0, nil, "", 0, 0, nil, 1
	}
	for range drawsBeforeOrder {
		random.Float64()
	}
	order := make(map[string]uint64, len(nodes))
	names := sortedNodes(nodes)
	for i, number := range random.Perm(len(nodes)) {
		order[names[i].Name] = uint64(number)
	}
	return &Inflated{Arrivals: list, Order: order}, nil
}

func checkInflate(fleet resource.Vector, jobs []Arrival, multiple float64) error {
	if !(multiple > 0 && multiple <= 100) {
		return inflateError(fmt.Sprintf("arrivals: %v, expected above 0 to 100", multiple))
	}
	if fleet[devicesDim] == 0 {
		return inflateError("nodes: no devices, expected a fleet with devices: the arrivals are measured in them")
	}
	for i := range jobs {
		if jobs[i].Job.Request.Device.Count > 0 {
			return nil
		}
	}
	return inflateError("jobs: none requests a device, expected at least one: the arrivals are measured in devices")
}

func inflateError(detail string) error {
	return &poise.Error{Kind: poise.Invalid, Op: "inflate workload", Detail: detail}
}

// RunInflate attempts every arrival once, without departures or retries, and
// reports how full the fleet was as demand arrived. Under the tie rule
// Published the policy takes the order of the arrival list.
func RunInflate(c Config, nodes []poise.Node, list *Inflated) (*Result, error) {
	c.Reservations, c.Patience, c.Preempt = 0, 0, nil
	if c.Policy.Ties == sched.Published {
		c.Policy.Order = list.Order
	}
	w, err := NewWorld(&c, queue.Defaults(), sortedNodes(nodes))
	if err != nil {
		return nil, err
	}
	m := newMetrics(w)
	for i := range list.Arrivals {
		a := &list.Arrivals[i]
		j, err := w.submit(a)
		if err != nil {
			return nil, err
		}
		m.arrive(j)
		s, err := w.attempt(a.At)
		if err != nil {
			return nil, err
		}
		m.attempt(w.state(), s)
		if s.Decision.Verdict != poise.Placed {
			if err := w.apply(a.At, poise.JobWithdrawn{Job: j.ID}); err != nil {
				return nil, err
			}
		}
		m.sample()
	}
	return m.result(w, ModeInflate), nil
}

// arrivedPercent rounds half to even, as the published metric does.
func arrivedPercent(part, whole int64) int {
	return int(math.RoundToEven(percent(part, whole)))
}

// hundredths rounds to 0.01, half away from zero, as the published metric does.
func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

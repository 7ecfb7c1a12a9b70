// The plugin spread-domains spreads the tasks of a tenant, or of a job, over the
// values of the label zone. It is built with the Go SDK and imports nothing else.
// It is row-pure: an answer depends on the row, the counts of the domains and the
// parameters, never on which task of the job is asked about.
package main

import (
	poise "github.com/poise-sched/poise/abi/guest/go"
	"github.com/poise-sched/poise/abi/guest/go/filter"
	"github.com/poise-sched/poise/abi/guest/go/score"
)

const (
	soft, hard        = "soft", "hard"
	byTenant, byJob   = "tenant", "job"
	noZone, worstLoss = -1, 1
)

var (
	plugin = poise.New("spread-domains", "1.0.0").RowPure().LossRange(0, worstLoss).
		Describe("Spreads a tenant's or a job's tasks over the zones")
	tenantTasks = plugin.TenantTasks()
	jobTasks    = plugin.JobTasks()
	zone        = plugin.Label("zone")
	zones       = plugin.Domain("zone")
	maxSkew     = plugin.I64("max_skew").Default(1).Min(1)
	mode        = plugin.Enum("mode", soft, hard)
	by          = plugin.Enum("by", byTenant, byJob)
	overSkew    = plugin.Reason("more tasks in this zone than the skew allows")
	zoneless    = plugin.Reason("node has no zone")

	_ = filter.Export(narrow)
	_ = score.Export(rank)
)

// counter tells how many more tasks the zone of a row has than the zone with
// the fewest. It keeps what it has looked up, each zone in a place of its own
// unless the fleet has very many.
type counter struct {
	domain poise.DomainView
	byJob  bool
	least  int
	kept   [places]struct {
		zone   poise.Symbol
		excess int
	}
}

const places = 32

func (n *counter) begin(c *poise.Call) {
	n.domain, n.byJob = zones.Of(c), by.Of(c) == byJob
	n.least, _ = n.domain.TenantTasks()
	if n.byJob {
		n.least, _ = n.domain.JobTasks()
	}
	n.kept[poise.NoSymbol].excess = noZone
}

// of gives the excess of a zone, or noZone for a node without one.
func (n *counter) of(zone poise.Symbol) int {
	k := &n.kept[zone%places]
	if k.zone != zone {
		k.zone, k.excess = zone, n.find(zone)
	}
	return k.excess
}

func (n *counter) find(zone poise.Symbol) int {
	v, ok := n.domain.Find(zone)
	switch {
	case !ok:
		return noZone
	case n.byJob:
		return v.JobTasks() - n.least
	}
	return v.TenantTasks() - n.least
}

func narrow(c *poise.Call, reasons []poise.Reason) {
	if mode.Of(c) != hard {
		return
	}
	var count counter
	count.begin(c)
	most := int(maxSkew.Of(c))
	for row, z := range zone.Of(c) {
		switch excess := count.of(z); {
		case excess == noZone:
			reasons[row] = zoneless
		case excess+1 > most:
			reasons[row] = overSkew
		}
	}
}

// rank gives the loss y/(y + max_skew) with y = excess + t/(t+1), t being the
// tasks on the node itself. So the zone decides, within a zone the node, and the
// loss at an excess of max_skew is a half whatever the skew.
func rank(c *poise.Call, losses []float64) {
	var count counter
	count.begin(c)
	skew := float64(maxSkew.Of(c))
	tasks := tenantTasks.Of(c)
	if count.byJob {
		tasks = jobTasks.Of(c)
	}
	tasks = tasks[:len(losses)]
	for row, z := range zone.Of(c) {
		excess := count.of(z)
		if excess == noZone {
			losses[row] = worstLoss
			continue
		}
		t := float64(tasks[row])
		y := float64(excess) + t/(t+1)
		losses[row] = y / (y + skew)
	}
}

func main() {}

// The plugin only-class keeps a tenant's jobs on nodes of one class, or of two.
// It is built with the Go SDK and imports nothing else. It is row-pure: an answer
// depends on the class of the row, the job's tenant and the parameters only.
package main

import (
	poise "github.com/poise-sched/poise/abi/guest/go"
	"github.com/poise-sched/poise/abi/guest/go/filter"
)

var (
	plugin = poise.New("only-class", "1.0.0").RowPure().
		Describe("Lets jobs run on nodes of one class, or of two")
	classes    = plugin.Class()
	owner      = plugin.Tenant()
	tenant     = plugin.Symbol("tenant").Default("")
	class      = plugin.Symbol("class")
	also       = plugin.Symbol("also").Default("")
	otherClass = plugin.Reason("not of the class that the tenant may use")
	noClass    = plugin.Reason("node has no class")

	_ = filter.Export(narrow)
)

func narrow(c *poise.Call, reasons []poise.Reason) {
	if only := tenant.Of(c); only != poise.NoSymbol && only != owner.Of(c) {
		return // the jobs of other tenants may go anywhere
	}
	one, two := class.Of(c), also.Of(c)
	for row, have := range classes.Of(c) {
		switch {
		case have == poise.NoSymbol:
			reasons[row] = noClass
		case have != one && have != two:
			reasons[row] = otherClass
		}
	}
}

func main() {}

package poise

// Plugin is the declaration of a plugin: its manifest. What its methods declare
// stands in the tables of the host in the order of the calls, so a plugin is
// declared once, in package variables of one file.
type Plugin struct {
	name, version, description string

	columns, labels, domains, dims, fields []string

	params  []param
	reasons []string

	rowPure, choosesDevices, wantsProfile, seeded bool
	lossRange                                     []float64
}

// New begins the declaration of the module's plugin. A module has one.
func New(name, version string) *Plugin {
	p := &Plugin{name: name, version: version}
	register(p)
	return p
}

// Describe gives the plugin a sentence for people.
func (p *Plugin) Describe(text string) *Plugin {
	p.description = text
	return p
}

// RowPure promises that an answer depends on its row, the job and the blocks
// only, not on the task index, the seed or an age. The host then keeps answers
// until one of them changes.
func (p *Plugin) RowPure() *Plugin {
	p.rowPure = true
	return p
}

// ChoosesDevices says that the score writes Call.Masks.
func (p *Plugin) ChoosesDevices() *Plugin {
	p.choosesDevices = true
	return p
}

// LossRange promises that all losses lie within lo and hi. The host needs it to
// combine them with other losses; one outside voids the call.
func (p *Plugin) LossRange(lo, hi float64) *Plugin {
	p.lossRange = []float64{lo, hi}
	return p
}

// TieSeeded orders nodes of equal loss by a hash of seed, job and node instead
// of by name.
func (p *Plugin) TieSeeded() *Plugin {
	p.seeded = true
	return p
}

// Reason is what a filter writes for a row: Keep, or why it refuses the row.
type Reason uint32

// Keep keeps the row.
const Keep Reason = 0

// Reason declares a reason with the text that people read. Codes count from 1 in
// the order of declaration.
func (p *Plugin) Reason(text string) Reason {
	p.reasons = append(p.reasons, text)
	return Reason(len(p.reasons))
}

// index gives the place of name in the list and adds it if it is not there.
func index(list *[]string, name string) int {
	for i, have := range *list {
		if have == name {
			return i
		}
	}
	*list = append(*list, name)
	return len(*list) - 1
}

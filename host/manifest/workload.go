package manifest

import (
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// Workload is what a run in virtual time takes beside the fleet.
type Workload struct {
	Jobs    []Job
	Tenants []poise.Tenant // that the file declares; jobs may name others
}

// ReadWorkload reads the jobs of a file, in the manner of ReadJobs, and the
// tenants that documents without the field job declare there: tenant, parent,
// weight, and quotas by resource.
func ReadWorkload(path string) (*Workload, error) { return readFile(path, DecodeWorkload) }

// DecodeWorkload reads from r as ReadWorkload does from a file; name stands in
// errors and its extension tells the format.
func DecodeWorkload(name string, r io.Reader) (*Workload, error) {
	w := &Workload{}
	d := &jobs{problems: problems{file: name}, names: newNames(fileLimits.nouns), tenants: &w.Tenants}
	if err := decode(r, fileLimits, &d.problems, d); err != nil {
		return nil, err
	}
	if d.ready(); d.count > 0 {
		return nil, d.problems.err()
	}
	w.Jobs = d.list
	return w, nil
}

// isTenant says whether a document is of a tenant.
func isTenant(n *yaml.Node) bool {
	keys := map[string]bool{}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		keys[n.Content[i].Value] = true
	}
	return keys["tenant"] && !keys["job"]
}

func (d *jobs) tenant(n *yaml.Node) {
	before := d.count
	o, ok := d.object(n, "", "tenant", "parent", "weight", "quotas")
	if !ok {
		return
	}
	t := poise.Tenant{ID: poise.TenantID(o.text("tenant")), Parent: poise.TenantID(o.text("parent")), Weight: o.number("weight"), Quotas: tenantQuotas(&o)}
	if d.count > before {
		return
	}
	if err := t.Validate(); err != nil {
		d.invalid(o.lineOf("tenant"), "id", "tenant", err)
		return
	}
	if slices.ContainsFunc(*d.tenants, func(other poise.Tenant) bool { return other.ID == t.ID }) {
		o.wrong("tenant", "every tenant once")
		return
	}
	*d.tenants = append(*d.tenants, t)
}

func tenantQuotas(o *object) []poise.Quota {
	all, _ := o.object("quotas")
	var quotas []poise.Quota
	for _, name := range all.keys {
		fields, ok := all.object(name, "guaranteed", "limit", "reserved")
		if !ok {
			continue
		}
		q := poise.Quota{Resource: name}
		for _, f := range []struct {
			name string
			to   *int64
		}{{"guaranteed", &q.Guaranteed}, {"limit", &q.Limit}, {"reserved", &q.Reserved}} {
			if !fields.has(f.name) {
				continue
			}
			if text, ok := fields.quantity(f.name); ok {
				amount, err := resource.ParseCapacity(name, text)
				if err != nil {
					fields.refuse(f.name, err)
				}
				*f.to = amount
			}
		}
		quotas = append(quotas, q)
	}
	return quotas
}

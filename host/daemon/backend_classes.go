package daemon

import (
	"context"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/resource"
)

// Classes implements api.Backend.
func (d *Daemon) Classes(context.Context) ([]client.Class, error) {
	p := d.board.current.Load()
	all := []client.Class{}
	if p.classes == nil {
		return all, nil
	}
	members := map[string]int{}
	for _, row := range p.rowOf {
		if name, ok := model.ClassOf(p.snap.Labels(row)); ok {
			members[name]++
		}
	}
	for i := range p.classes.Classes {
		all = append(all, class(&p.classes.Classes[i], members[p.classes.Classes[i].Name], p.classes.Build))
	}
	return all, nil
}

// RebuildClasses implements api.Backend.
func (d *Daemon) RebuildClasses(ctx context.Context) ([]client.Class, error) {
	err := d.durably(ctx, func(c *core) error {
		if err := c.classify(modelSettings(&d.options.Config.Current().Config), true); err != nil {
			return err
		}
		c.publish()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.Classes(ctx)
}

// class gives a class as it goes over the wire.
func class(c *model.Class, members int, build uint64) client.Class {
	quantity := func(name string, v int64) client.Quantity { return client.Quantity(resource.Format(name, v)) }
	w := client.Class{
		ID: uint32(c.ID), Name: c.Name, Pinned: c.Pinned, Nodes: members, Ratio: c.Ratio, Build: build,
		MedianCPU: quantity("cpu", c.MedianCPU), MedianMemory: quantity("memory", c.MedianMemory), Capacity: []client.ClassRange{},
	}
	for _, r := range c.Capacity {
		w.Capacity = append(w.Capacity, client.ClassRange{Resource: r.Name, Least: quantity(r.Name, r.Lo), Most: quantity(r.Name, r.Hi)})
	}
	for _, r := range c.Devices {
		w.Devices = append(w.Devices, client.ClassDevice{Kind: r.Kind, Model: r.Model, Least: r.Lo, Most: r.Hi})
	}
	return w
}

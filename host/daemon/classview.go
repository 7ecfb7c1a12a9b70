package daemon

import (
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/resource"
)

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

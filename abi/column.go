package abi

import (
	"fmt"
	"strings"
)

// Kind is what a column holds. The numbers are part of the contract.
type Kind uint32

// The kinds of column.
const (
	Capacity     Kind = 1 + iota // capacity:D, f64, base units
	Allocated                    // allocated:D, f64, base units
	Class                        // class, u32: symbol of the name of the node's class, 0 = none
	Label                        // a label of the manifest's labels, u32: symbol of the value, 0 = absent
	Taints                       // taints, u64: see TaintNoSchedule
	Selectors                    // selectors, u64: bit i = the job's selector i matches
	Devices                      // devices or devices:R, u16 per device: free milli-devices
	DeviceModel                  // device_model or device_model:R, u32: symbol, 0 = none
	RunningTasks                 // running_tasks, u32
	TenantTasks                  // tenant_tasks, u32: of the job's tenant
	JobTasks                     // job_tasks, u32: of this job, tentative ones included
	Age                          // age, f64: milliseconds since the node joined
)

// Bits of a row in the column taints.
const (
	TaintNoSchedule  = 1 << iota // has such a taint
	TaintNoExecute               // has such a taint
	TaintUntolerated             // has a taint that the job does not tolerate; no candidate has
)

// DefaultDevice is the device resource that a column names without saying which.
const DefaultDevice = "gpu"

// Column is one column that a plugin wants.
type Column struct {
	Kind Kind
	// Name is the dimension of Capacity and Allocated, the device resource of
	// Devices and DeviceModel, the key of Label; else empty.
	Name string
}

// plainKinds are the columns that stand for themselves.
var plainKinds = map[string]Kind{
	"class": Class, "taints": Taints, "selectors": Selectors, "running_tasks": RunningTasks,
	"tenant_tasks": TenantTasks, "job_tasks": JobTasks, "age": Age,
}

// ParseColumn reads a name of a manifest's columns, such as "capacity:cpu".
func ParseColumn(text string) (Column, error) {
	if k, ok := plainKinds[text]; ok {
		return Column{Kind: k}, nil
	}
	word, name, qualified := strings.Cut(text, ":")
	c := Column{Name: name}
	switch word {
	case "capacity":
		c.Kind = Capacity
	case "allocated":
		c.Kind = Allocated
	case "devices":
		c.Kind = Devices
	case "device_model":
		c.Kind = DeviceModel
	}
	isDevice := c.Kind == Devices || c.Kind == DeviceModel
	if isDevice && !qualified {
		c.Name = DefaultDevice
	}
	if c.Kind == 0 || c.Name == "" {
		return Column{}, fmt.Errorf("column %q: unknown, expected capacity:DIMENSION, allocated:DIMENSION, class, taints, selectors, "+
			"devices[:RESOURCE], device_model[:RESOURCE], running_tasks, tenant_tasks, job_tasks or age", text)
	}
	return c, nil
}

// Stride is how many bytes a row takes in the column, with so many devices a
// row.
func (c Column) Stride(devices int) int {
	switch c.Kind {
	case Capacity, Allocated, Taints, Selectors, Age:
		return 8
	case Devices:
		return 2 * devices
	}
	return 4
}

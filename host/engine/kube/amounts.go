package kube

import (
	"math"
	"slices"
	"strings"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
	v1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
)

// The one resource that becomes devices, and what kind they are.
const (
	gpuResource   = "nvidia.com/gpu"
	gpuModelLabel = "nvidia.com/gpu.product"
	gpuKind       = "gpu"
)

// podsDimension counts pods.
const podsDimension = "pods"

// dimension gives the name of a resource in the core. Storage has the name that
// it has on machines that are in no cluster.
func dimension(name v1.ResourceName) string {
	if name == v1.ResourceEphemeralStorage {
		return "storage"
	}
	return string(name)
}

// amounts gives what is asked for, rounded up, or what is offered, rounded down,
// and the number of GPUs apart. What is asked for and is 0 is left out, as a node
// need not know of it. Amounts that cannot be held are left out and come back as
// an error.
func amounts(list v1.ResourceList, offered bool) (resource.List, int64, error) {
	parse := resource.ParseRequest
	if offered {
		parse = resource.ParseCapacity
	}
	var all resource.List
	var gpus int64
	var first error
	for name, q := range list {
		dim := dimension(name)
		amount, err := amountOf(dim, q, parse)
		switch {
		case err != nil:
			if first == nil || err.Error() < first.Error() {
				first = err
			}
		case name == gpuResource && offered:
			gpus = amount / poise.WholeDevice
		case name == gpuResource:
			gpus = (amount + poise.WholeDevice - 1) / poise.WholeDevice
		case amount > 0 || offered:
			all = append(all, resource.Amount{Name: dim, Value: amount})
		}
	}
	slices.SortFunc(all, func(a, b resource.Amount) int { return strings.Compare(a.Name, b.Name) })
	return all, gpus, first
}

// amountOf gives a quantity in the base unit of its dimension.
func amountOf(dim string, q quantity.Quantity, parse func(name, text string) (int64, error)) (int64, error) {
	if whole, ok := q.AsInt64(); ok && whole >= 0 {
		if resource.UnitOf(dim) == resource.Bytes {
			return whole, nil
		}
		if whole <= math.MaxInt64/1000 {
			return whole * 1000, nil
		}
	}
	exact := q.DeepCopy()
	return parse(dim, exact.AsDec().String())
}

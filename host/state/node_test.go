package state

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// A full table refuses new names only: nodes with the known ones, or without
// any, still join and change.
func TestSymbolsAreBounded(t *testing.T) {
	d := newDriver(t, 0)
	node := func(kind, model string) poise.Node {
		return poise.Node{Name: "a", Devices: poise.Devices{Kind: kind, Model: model, Count: 1}}
	}
	d.do(t, poise.NodeJoined{Node: node("gpu", "A100")})
	for i := len(d.live.models); i < maxSymbols; i++ {
		d.live.models = append(d.live.models, fmt.Sprint("model", i))
	}
	d.do(t,
		poise.NodeChanged{Node: poise.Node{Name: "a"}},
		poise.NodeJoined{Node: poise.Node{Name: "b"}},
		poise.NodeChanged{Node: node("npu", "model65535")},
	)
	s := d.View()
	if got := s.Models()[s.Model(d.row(t, "a"))]; got != "model65535" {
		t.Errorf("the last model that has a number reads %q", got)
	}
	d.refused(t, `node "a": devices: model "H100": a new name, expected one of the 65535 that nodes have declared`, poise.NodeChanged{Node: node("gpu", "H100")})
	for i := len(d.live.kinds); i < maxSymbols; i++ {
		d.live.kinds = append(d.live.kinds, fmt.Sprint("kind", i))
	}
	d.do(t, poise.NodeChanged{Node: node("gpu", "A100")})
	d.refused(t, `node "a": devices: kind "tpu": a new name, expected one of the 65535 that nodes have declared`, poise.NodeChanged{Node: node("tpu", "A100")})
}

func TestDimensionsAreBounded(t *testing.T) {
	d := newDriver(t, 0)
	node := func(name string, first, last int) poise.Node {
		n := poise.Node{Name: name, Capacity: amounts("cpu", 1)}
		for i := first; i <= last; i++ {
			n.Capacity = append(n.Capacity, amounts(fmt.Sprintf("d%06d", i), i)...)
		}
		return n
	}
	d.do(t, poise.NodeJoined{Node: node("a", 3, maxDims-1)}) // cpu and memory are 1 and 2
	d.refused(t, `node "b": capacity: d001025: a new name, expected one of the 1024 that nodes have declared`, poise.NodeJoined{Node: node("b", maxDims-1, maxDims+1)})
	d.do(t, poise.NodeChanged{Node: node("a", 3, maxDims)})
	d.refused(t, `node "b": capacity: d001025: a new name, expected one of the 1024 that nodes have declared`, poise.NodeJoined{Node: node("b", maxDims+1, maxDims+1)})
	d.do(t, poise.NodeJoined{Node: node("b", maxDims, maxDims)})
	if s := d.View(); s.Capacity(d.row(t, "b"), maxDims-1) != maxDims || s.Capacity(d.row(t, "b"), maxDims-2) != 0 {
		t.Error("the last dimension is not where it should be")
	}
}

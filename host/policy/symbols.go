package policy

import (
	"math"
	"slices"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/state"
)

// symbolTable finds the number of a text in the snapshot's symbols.
type symbolTable struct {
	ids  map[string]uint32
	last string // that was asked for, "" = none yet: nearly every job wants the same kind of device
	is   uint32 // its number
}

func newSymbolTable() symbolTable { return symbolTable{ids: map[string]uint32{}} }

func (t *symbolTable) follow(snap *state.Snapshot) {
	texts := snap.Symbols()
	for id := len(t.ids); id < len(texts); id++ {
		t.ids[texts[id]] = uint32(id)
	}
}

// unknown is the number of a text that no event has brought, which only a dry
// run can ask about: it equals nothing that a node or a parameter has.
const unknown = math.MaxUint32

func (t *symbolTable) id(text string) uint32 {
	if text == t.last && text != "" {
		return t.is
	}
	id, ok := t.ids[text]
	if !ok {
		return unknown
	}
	t.last, t.is = text, id
	return id
}

func (t *symbolTable) label(snap *state.Snapshot, row uint32, key string) uint32 {
	labels := snap.Labels(row)
	i, ok := slices.BinarySearchFunc(labels, key, func(l poise.Label, key string) int {
		switch {
		case l.Key < key:
			return -1
		case l.Key > key:
			return 1
		}
		return 0
	})
	if !ok {
		return 0
	}
	return t.id(labels[i].Value)
}

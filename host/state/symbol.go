package state

import (
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// symbols numbers texts in the order in which events bring them, so that policy
// plugins compare numbers and a replay gives the same ones. Tenants, device
// kinds and models and the names of node classes always have a number; values of
// other labels do where a policy wants the key. A number is never used again.
type symbols struct {
	ids   map[string]uint32
	texts []string        // by id; readers of older snapshots keep a shorter slice
	keys  map[string]bool // label keys whose values are numbered
}

func newSymbols() symbols {
	return symbols{ids: map[string]uint32{"": 0}, texts: []string{""}, keys: map[string]bool{poise.ClassLabel: true}}
}

// intern gives a text its number, and gives the one copy of it that is kept.
func (s *symbols) intern(text string) string {
	id, ok := s.ids[text]
	if !ok {
		id = uint32(len(s.texts))
		s.ids[text] = id
		s.texts = append(s.texts, text)
	}
	return s.texts[id]
}

func (s *symbols) internDevice(kind string, models []string) {
	s.intern(kind)
	for _, m := range models {
		s.intern(m)
	}
}

// internLabels numbers the wanted ones among a node's labels.
func (s *State) internLabels(labels []poise.Label) {
	for i := range labels {
		if s.symbols.keys[labels[i].Key] {
			s.symbols.intern(labels[i].Value)
		}
	}
	s.live.symbols = s.symbols.texts
}

// wantSymbols numbers the values, then the labels of the nodes that are there,
// by row.
func (s *State) wantSymbols(b *poise.SymbolsWanted) {
	for _, text := range b.Values {
		s.symbols.intern(text)
	}
	for _, key := range b.Labels {
		s.symbols.keys[key] = true
	}
	for row := range uint32(s.live.rows) {
		if s.live.Present(row) {
			s.internLabels(s.live.Labels(row))
		}
	}
	s.live.symbols = slices.Clip(s.symbols.texts)
}

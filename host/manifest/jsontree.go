package manifest

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// jsonTree gives the YAML tree that means the same as a valid JSON text in UTF-8;
// all of it is at one line. It reads each byte once: what submits jobs by the
// thousand sends them as JSON.
func jsonTree(text []byte, line int) *yaml.Node {
	s := jsonScan{text: text, line: line}
	return s.value()
}

// jsonScan is a place in a valid JSON text.
type jsonScan struct {
	text []byte
	at   int
	line int
}

// next gives the byte at the place, after white space.
func (s *jsonScan) next() byte {
	for {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
}

// value takes one value.
func (s *jsonScan) value() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: s.line}
	switch s.next() {
	case '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		s.list(n, '}')
	case '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		s.list(n, ']')
	case '"':
		n.Tag, n.Value = "!!str", s.string()
	case 't', 'f':
		n.Tag, n.Value = "!!bool", s.word()
	case 'n':
		n.Tag = "!!null"
		s.word()
	default:
		n.Tag, n.Value = "!!float", s.word()
		if wholeNumber(n.Value) {
			n.Tag = "!!int"
		}
	}
	return n
}

// list takes the values up to the bracket that ends them, keys of an object
// included.
func (s *jsonScan) list(n *yaml.Node, end byte) {
	for s.at++; ; {
		switch s.next() {
		case end:
			s.at++
			return
		case ',', ':':
			s.at++
		default:
			n.Content = append(n.Content, s.value())
		}
	}
}

// string takes text in quotes.
func (s *jsonScan) string() string {
	from, plain := s.at, true
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	quoted := s.text[from:s.at]
	if plain {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic("BUG: valid JSON has text that is none: " + err.Error())
	}
	return text
}

// word takes a number or a literal.
func (s *jsonScan) word() string {
	word := s.text[s.at:]
	if end := bytes.IndexAny(word, " \t\r\n,]}"); end >= 0 {
		word = word[:end]
	}
	s.at += len(word)
	return string(word)
}

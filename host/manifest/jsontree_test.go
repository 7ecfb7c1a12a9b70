package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// treeOfTokens makes the tree with the standard library's tokens.
func treeOfTokens(t *testing.T, tokens *json.Decoder, line int) *yaml.Node {
	t.Helper()
	token, err := tokens.Token()
	if err != nil {
		t.Fatal(err)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: line}
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for tokens.More() {
			n.Content = append(n.Content, treeOfTokens(t, tokens, line))
		}
		if _, err := tokens.Token(); err != nil {
			t.Fatal(err)
		}
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
		if wholeNumber(n.Value) {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case nil:
		n.Tag = "!!null"
	}
	return n
}

// A valid text gives the tree that the standard library's tokens give.
func FuzzJSONTree(f *testing.F) {
	for _, text := range []string{
		`{"job": "a", "request": {"cpu": 1.5e3, "memory": "4Gi"}, "command": ["sh", "-c", "echo \"\u00e9\\n\""], "priority": -3}`,
		" [ ] ", "{}\n", `{"a":[[],{},[null,true,false]],"a":0}`, `""`, `"\\"`, `"\ud800"`, "1", "-0.5E-7", "null", `{"a" :1 , "b": [1 ,2 ]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			return
		}
		tokens := json.NewDecoder(bytes.NewReader(text))
		tokens.UseNumber()
		if want, got := treeOfTokens(t, tokens, 7), jsonTree(text, 7); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: the tree is not that of the tokens", text)
		}
	})
}

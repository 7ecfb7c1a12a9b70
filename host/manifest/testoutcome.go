package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// Outcome is what happened in a case: all that an Expect can speak of.
type Outcome struct {
	Node    string
	Devices []uint16
	Order   []string
	Refused map[string]string
	Losses  map[string]float64
	Fault   abi.Code
}

// Rewrite gives the text of the case with what happened in place of what was
// expected: of each key that expect has, or of all where it has none. The other
// lines stay as they are, and so do the comments in expect. A case without expect
// gets one at its end.
func (c *Case) Rewrite(o *Outcome) ([]byte, error) {
	lines := bytes.SplitAfter(c.text, []byte("\n"))
	if c.key == nil && !c.flow {
		c.key, c.expect = scalar("expect", "!!str"), &yaml.Node{Kind: yaml.MappingNode}
		c.key.Column, c.key.Line = 1, len(lines)+1
		for outside(lines[c.key.Line-2]) {
			c.key.Line--
		}
		c.next = c.key.Line
		if last := &lines[c.key.Line-2]; !bytes.HasSuffix(*last, []byte("\n")) {
			*last = append(slices.Clone(*last), '\n')
		}
	}
	if c.key == nil || c.key.Column != 1 {
		line := 1
		if c.key != nil {
			line = c.key.Line
		}
		return nil, &poise.Error{Kind: poise.Invalid, Op: "update", Detail: fmt.Sprintf("%s:%d: expect: beside other fields on its line, expected it to begin a line", c.Path, line)}
	}
	c.renew(o)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := encoder.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{c.bare(c.key), c.expect}})
	if err == nil {
		err = encoder.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("update %s: %w", c.Path, err)
	}
	end := len(lines)
	if c.next > 0 {
		end = c.next - 1
	}
	for end > c.key.Line && outside(lines[end-1]) {
		end--
	}
	out := slices.Concat(lines[:c.key.Line-1]...)
	out = append(out, b.Bytes()...)
	return append(out, slices.Concat(lines[end:]...)...), nil
}

// outside says whether a line behind expect belongs to what follows.
func outside(line []byte) bool {
	return len(bytes.TrimSpace(line)) == 0 || line[0] == '#' || marks(bytes.TrimSuffix(line, []byte("\n")), "...")
}

// bare is a key without the comments that stand on the lines before and behind:
// they are in the text already.
func (c *Case) bare(key *yaml.Node) *yaml.Node {
	k := *key
	k.HeadComment, k.FootComment = "", ""
	return &k
}

// renew makes the tree of expect say what happened.
func (c *Case) renew(o *Outcome) {
	e := c.expect
	e.FootComment = ""
	all := c.Expect.Empty()
	put := func(key string, wanted bool, value func(old *yaml.Node) *yaml.Node) {
		i := 0
		for i < len(e.Content) && e.Content[i].Value != key {
			i += 2
		}
		switch {
		case i == len(e.Content) && wanted:
			e.Content = append(e.Content, scalar(key, "!!str"), value(nil))
		case i < len(e.Content) && !wanted:
			e.Content = slices.Delete(e.Content, i, i+2)
		case i < len(e.Content):
			e.Content[i+1] = value(e.Content[i+1])
		}
	}
	if all {
		e.Style = 0
	}
	node := func(old *yaml.Node) *yaml.Node { return renewScalar(old, o.Node, "!!str") }
	put("node", all || c.Expect.Node != nil, node)
	put("fault", o.Fault != "", func(old *yaml.Node) *yaml.Node { return renewScalar(old, string(o.Fault), "!!str") })
	put("devices", (all && len(o.Devices) > 0 || c.Expect.Devices != nil) && o.Node != "", func(old *yaml.Node) *yaml.Node {
		names := make([]string, len(o.Devices))
		for i, d := range o.Devices {
			names[i] = strconv.Itoa(int(d))
		}
		return renewList(old, names, "!!int")
	})
	put("order", all || c.Expect.Order != nil, func(old *yaml.Node) *yaml.Node { return renewList(old, o.Order, "!!str") })
	refused := o.Refused
	if !all {
		refused = kept(refused, c.Expect.Refused)
	}
	put("refused", len(refused) > 0, func(old *yaml.Node) *yaml.Node { return renewMap(old, refused, "!!str") })
	losses := map[string]string{}
	for node, loss := range o.Losses {
		losses[node] = strconv.FormatFloat(loss, 'g', -1, 64)
	}
	if !all {
		losses = kept(losses, c.Expect.Losses)
	}
	put("losses", len(losses) > 0, func(old *yaml.Node) *yaml.Node { return renewMap(old, losses, "!!float") })
	if len(e.Content) == 0 {
		put("node", true, node)
	}
}

// kept gives what happened to the nodes that the case speaks of.
func kept[V any](happened map[string]string, expected map[string]V) map[string]string {
	out := map[string]string{}
	for node := range expected {
		if text, ok := happened[node]; ok {
			out[node] = text
		}
	}
	return out
}

// scalar makes a value that reads back as the tag says.
func scalar(text, tag string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Tag: tag}
	if tag == "!!float" && !strings.ContainsAny(text, ".eE") {
		n.Tag = "!!int"
	}
	return n
}

func renewScalar(old *yaml.Node, text, tag string) *yaml.Node {
	n := scalar(text, tag)
	if old != nil {
		n.Style = old.Style
		n.HeadComment, n.LineComment, n.FootComment = old.HeadComment, old.LineComment, old.FootComment
	}
	return n
}

func renewList(old *yaml.Node, texts []string, tag string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	if old != nil {
		*n = *old
	}
	before := n.Content
	n.Content = nil
	for _, text := range texts {
		item := scalar(text, tag)
		if i := slices.IndexFunc(before, func(b *yaml.Node) bool { return b.Value == text }); i >= 0 {
			item = before[i] // with its comments
		}
		n.Content = append(n.Content, item)
	}
	return n
}

func renewMap(old *yaml.Node, values map[string]string, tag string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if old != nil {
		*n = *old
	}
	before := n.Content
	n.Content = nil
	for i := 0; i < len(before); i += 2 {
		if text, ok := values[before[i].Value]; ok {
			value := renewScalar(before[i+1], text, tag)
			n.Content = append(n.Content, before[i], value)
		}
	}
	if old == nil {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			n.Content = append(n.Content, scalar(key, "!!str"), scalar(values[key], tag))
		}
	}
	return n
}

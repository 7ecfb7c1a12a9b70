package daemon

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// difference names the first input, then the first outcome, in which two
// decisions differ. How many rows had to be looked at, and what plugins used,
// depends on what was known before and is none.
func difference(was, is *poise.Decision) (field, a, b string) {
	for _, f := range []struct{ name, a, b string }{
		{"policy", was.Policy, is.Policy},
		{"tie rule", was.Ties, is.Ties},
		{"seed", fmt.Sprint(was.Seed), fmt.Sprint(is.Seed)},
		{"snapshot version", fmt.Sprint(was.Version), fmt.Sprint(is.Version)},
		{"demand profile", fmt.Sprint(was.Epoch), fmt.Sprint(is.Epoch)},
		{"nodes", fmt.Sprint(was.Nodes), fmt.Sprint(is.Nodes)},
		{"verdict", was.Verdict.String(), is.Verdict.String()},
		{"refused nodes", refusedText(was), refusedText(is)},
		{"fitting nodes", fmt.Sprint(was.Fitting), fmt.Sprint(is.Fitting)},
	} {
		if f.a != f.b {
			return f.name, f.a, f.b
		}
	}
	if field, a, b := inputs(was, is); field != "" {
		return field, a, b
	}
	for _, f := range []struct{ name, a, b string }{
		{"ranking", ranking(was), ranking(is)},
		{"node", was.Node, is.Node},
		{"devices", fmt.Sprint(was.Devices), fmt.Sprint(is.Devices)},
		{"fault", was.Fault, is.Fault},
	} {
		if f.a != f.b {
			return f.name, f.a, f.b
		}
	}
	return "", "", ""
}

func refusedText(d *poise.Decision) string {
	counts := slices.Clone(d.Refused)
	slices.SortFunc(counts, func(a, b poise.ReasonCount) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Dim, b.Dim), cmp.Compare(a.Text, b.Text))
	})
	text := ""
	for _, c := range counts {
		text += fmt.Sprintf("%d %s %s %s, ", c.Nodes, c.Code, c.Dim, c.Text)
	}
	return text
}

func ranking(d *poise.Decision) string {
	text := ""
	for i := range d.Ranked {
		r := &d.Ranked[i]
		text += fmt.Sprintf("%s %d %x %v, ", r.Node, r.Tier, r.Loss, r.Devices)
	}
	return text
}

// inputs compares what the decisions say of the nodes that both list: how
// balanced a node was, then by how much that counts, then what plugins saw.
func inputs(was, is *poise.Decision) (field, a, b string) {
	for i := range was.Ranked {
		x := &was.Ranked[i]
		j := slices.IndexFunc(is.Ranked, func(r poise.Ranked) bool { return r.Node == x.Node })
		if j < 0 {
			continue
		}
		y := &is.Ranked[j]
		for k := 0; k < min(len(x.Columns), len(y.Columns)); k++ {
			c, d := &x.Columns[k], &y.Columns[k]
			if c.Name != d.Name || c.Before != d.Before {
				return fmt.Sprintf("node %s, balance of %s", x.Node, c.Name), fmt.Sprint(c.Before), fmt.Sprintf("%v (%s)", d.Before, d.Name)
			}
			if c.Factor != d.Factor || c.Weight != d.Weight {
				return fmt.Sprintf("scheduler constants or demand profile, weight of %s", c.Name), fmt.Sprint(c.Factor, c.Weight), fmt.Sprint(d.Factor, d.Weight)
			}
		}
		for _, seen := range x.Seen {
			k := slices.IndexFunc(y.Seen, func(r poise.Reading) bool { return r.Name == seen.Name })
			if k >= 0 && y.Seen[k] != seen {
				return fmt.Sprintf("node %s, %s as the plugin saw it", x.Node, seen.Name), seen.Text, y.Seen[k].Text
			}
		}
	}
	return "", "", ""
}

// firstDifference names the first field in which two texts of JSON differ, by
// the names of fields.
func firstDifference(was, is []byte) (field, a, b string, err error) {
	if bytes.Equal(was, is) {
		return "", "", "", nil
	}
	var x, y any
	for _, e := range []struct {
		text []byte
		into *any
	}{{was, &x}, {is, &y}} {
		d := json.NewDecoder(bytes.NewReader(e.text))
		d.UseNumber() // all digits count
		if err := d.Decode(e.into); err != nil {
			return "", "", "", err
		}
	}
	field, a, b = differs("", x, y)
	return field, a, b, nil
}

// differs compares two values of JSON at a path.
func differs(path string, x, y any) (field, a, b string) {
	switch x := x.(type) {
	case map[string]any:
		if y, ok := y.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(merged(x, y))) {
				if field, a, b := differs(join(path, key), x[key], y[key]); field != "" {
					return field, a, b
				}
			}
			return "", "", ""
		}
	case []any:
		if y, ok := y.([]any); ok {
			for i := 0; i < max(len(x), len(y)); i++ {
				var p, q any
				if i < len(x) {
					p = x[i]
				}
				if i < len(y) {
					q = y[i]
				}
				if field, a, b := differs(fmt.Sprintf("%s[%d]", path, i), p, q); field != "" {
					return field, a, b
				}
			}
			return "", "", ""
		}
	}
	if a, b := short(x), short(y); a != b {
		return cmp.Or(path, "all of it"), a, b
	}
	return "", "", ""
}

func merged(x, y map[string]any) map[string]any {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return all
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// short is a value of JSON as text that fits on a line. An empty list and none
// are the same.
func short(v any) string {
	if list, ok := v.([]any); ok && len(list) == 0 {
		v = nil
	}
	text, _ := json.Marshal(v) // it was read from JSON
	const most = 200
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

package kube

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var update = flag.Bool("update", false, "write the jobs, occupants and nodes of the scenes anew")

// spaces are the namespaces of the scenes, with their labels.
var spaces = map[string]map[string]string{"blue-dev": {"team": "blue"}, "blue-prod": {"team": "blue"}, "red": {"team": "red"}}

func reader() *Reader {
	return &Reader{Cluster: "north", Spaces: func(s labels.Selector) []string {
		var found []string
		for _, name := range []string{"blue-dev", "blue-prod", "red"} {
			if s.Matches(labels.Set(spaces[name])) {
				found = append(found, name)
			}
		}
		return found
	}}
}

// A scene is pods and nodes as Kubernetes has them, each with what the core gets
// to know. A part pod, occupant or node is YAML; its want follows.
func TestScenes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenes, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			was := txtar.Parse(text)
			now := &txtar.Archive{Comment: was.Comment}
			for _, part := range was.Files {
				if part.Name == "want" {
					continue
				}
				now.Files = append(now.Files, part, txtar.File{Name: "want", Data: []byte(told(t, part.Name, part.Data))})
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(now), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(text), string(txtar.Format(now))); d != "" && !*update {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// told gives what the core gets to know, a line for each field that says
// something.
func told(t *testing.T, kind string, manifest []byte) string {
	t.Helper()
	switch kind {
	case "node":
		var n v1.Node
		read(t, manifest, &n)
		node, err := Node(&n, "north")
		if err != nil {
			return err.Error() + "\n"
		}
		return lines(t, node)
	case "pod", "occupant":
		var p v1.Pod
		read(t, manifest, &p)
		if p.UID == "" {
			p.UID = types.UID("uid-of-" + p.Name)
		}
		if p.Namespace == "" {
			p.Namespace = "red"
		}
		if kind == "occupant" {
			o, holds := reader().Occupant(&p)
			if !holds {
				return "holds nothing\n"
			}
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
			return lines(t, o)
		}
		job, refused := reader().Job(&p)
		if err := job.Validate(); err != nil {
			t.Error(err)
		}
		text := lines(t, job)
		for _, why := range refused {
			text += "refused: " + why + "\n"
		}
		return text
	}
	t.Fatalf("part %s, expected node, pod, occupant or want", kind)
	return ""
}

func read(t *testing.T, manifest []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(manifest, into); err != nil {
		t.Fatal(err)
	}
}

// lines gives a struct as text without its empty fields.
func lines(t *testing.T, v any) string {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var fields any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var order []string
	dec := json.NewDecoder(strings.NewReader(string(body)))
	_, _ = dec.Token()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
		order = append(order, key.(string))
	}
	for _, key := range order {
		write(&b, "", key, fields.(map[string]any)[key])
	}
	return b.String()
}

func write(b *strings.Builder, indent, key string, v any) {
	v = pruned(v)
	if v == nil {
		return
	}
	if list, ok := v.([]any); ok {
		for _, e := range list {
			if text, err := json.Marshal(e); err == nil {
				fmt.Fprintf(b, "%s%s: %s\n", indent, key, text)
			}
		}
		return
	}
	if m, ok := v.(map[string]any); ok && indent == "" {
		fmt.Fprintf(b, "%s:\n", key)
		for _, k := range []string{"Cluster", "Space", "AnyOf", "Prefer", "Ports", "Rules", "Spread", "Amounts", "Device", "Kind", "Model", "Count", "Exclusive", "Milli", "ID", "Size", "Min", "Index", "Name"} {
			write(b, "  ", k, m[k])
		}
		return
	}
	if text, err := json.Marshal(v); err == nil {
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, text)
	}
}

// pruned leaves out what is empty.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] = pruned(v[k]); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			if p := pruned(v[i]); p != nil {
				v[i] = p
			}
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

package guest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fenced = regexp.MustCompile("(?ms)^```(sh|text|rust)\n(.*?)^```$")

// The README's "Write a plugin" works as printed: its commands succeed one after
// the other, they say what the README says that they do, and the code is that of
// the project.
func TestTutorial(t *testing.T) {
	need(t, "rust")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Write a plugin\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := map[string]string{}
	for _, b := range fenced.FindAllStringSubmatch(section, -1) {
		blocks[b[1]] += b[2]
	}
	if len(blocks) != 3 {
		t.Fatalf("README: blocks of %d kinds in Write a plugin, expected sh, text and rust", len(blocks))
	}
	code := filepath.Join(t.TempDir(), "policy.rs")
	out := run(t, copyTree(t), "sh", "-ec", blocks["sh"]+"\ncp policy.rs "+code)
	includes(t, out, blocks["text"])
	policy, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	includes(t, string(policy), blocks["rust"])
}

// includes wants every line of part in text, whatever stands before it.
func includes(t *testing.T, text, part string) {
	t.Helper()
	for line := range strings.Lines(part) {
		if line = strings.TrimSpace(line); !strings.Contains(text, line) {
			t.Errorf("the README has %q, expected a line of\n%s", line, text)
		}
	}
}

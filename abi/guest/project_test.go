package guest

import (
	"path/filepath"
	"strings"
	"testing"
)

// What plugin new prints works, in every language, and so do the commands that
// come after it. The project has the name of a package of Go's library.
func TestProjectsBuildAndPass(t *testing.T) {
	poise := poise(t)
	fleet, err := filepath.Abs(filepath.Join(root, "examples", "fleets", "mixed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range Languages() {
		t.Run(lang, func(t *testing.T) {
			need(t, lang)
			dir := t.TempDir()
			said := run(t, dir, poise, "plugin", "new", "--lang", lang, "sort")
			_, commands, ok := strings.Cut(said, "\n\n")
			if !ok || !strings.Contains(commands, "make test") {
				t.Fatalf("plugin new said no commands:\n%s", said)
			}
			out := run(t, dir, "sh", "-ec", commands)
			if !strings.Contains(out, "2 cases: 2 ok, 0 failed, 0 in error") {
				t.Errorf("no cases were run:\n%s", out)
			}
			for line := range strings.Lines(out) {
				if f := strings.Fields(line); len(f) > 1 && f[0] != "#" && (f[1] == "warn" || f[1] == "fail") {
					t.Errorf("plugin check: %s", line)
				}
			}
			module := filepath.Join(dir, "sort", "sort.wasm")
			run(t, dir, poise, "plugin", "run", module, "--nodes", fleet, "--job", "{job: j, request: {cpu: 4}}")
			run(t, dir, poise, "plugin", "bench", module)
		})
	}
}

//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's "Tenants and their policies" works as printed: two tenants, one of
// which ships a policy, breaks it and takes it back, and one that does not notice.
func TestTenantsTour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	for _, tool := range []string{"clang", "wasm-ld", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: the tour builds a plugin in C", tool)
		}
	}
	blocks := readmeBlocks(t, "Tenants and their policies")
	if len(blocks) != 8 {
		t.Fatalf("README: %d blocks, expected serve, tenants, and three parts with what they say", len(blocks))
	}
	w := newTour(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	w.run("ln -s " + examples + " examples")
	address := freeAddress(t)
	w.serve(blocks[0].text + " --api.listen " + address)
	script := ""
	for i := 1; i < len(blocks); i++ {
		b := blocks[i]
		if b.kind == "text" {
			continue
		}
		// One shell for all, as a person has; what each part says is told apart by a mark.
		script += "echo '== part " + string(rune('0'+i)) + "'\n" + b.text + "\n"
	}
	out := w.run(strings.ReplaceAll(script, "127.0.0.1:7433", address))
	for i := 2; i+1 < len(blocks); i += 2 {
		_, part, _ := strings.Cut(out, "== part "+string(rune('0'+i))+"\n")
		part, _, _ = strings.Cut(part, "== part ")
		for line := range strings.Lines(blocks[i+1].text) {
			if line = strings.TrimSpace(line); !strings.Contains(part, line) {
				t.Errorf("the README has %q, expected a part of\n%s", line, part)
			}
		}
	}
	w.stop()
}

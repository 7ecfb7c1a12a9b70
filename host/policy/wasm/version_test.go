package wasm

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/metered.txt anew, after MeterVersion was raised if what Instrument makes has changed")

// The version is another one whenever Instrument makes something else of a module:
// a cache that held what an older meter made would run it. The file has a line for
// each committed module: its hash, and that of what Instrument makes of it.
func TestMeterVersion(t *testing.T) {
	const path = "testdata/metered.txt"
	before, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	version, known := 0, map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(before)), "\n") {
		if i == 0 {
			fmt.Sscanf(line, "version %d", &version)
		} else if f := strings.Fields(line); len(f) == 3 {
			known[f[0]+" "+f[1]] = f[2]
		}
	}
	after, compared := &strings.Builder{}, 0
	fmt.Fprintf(after, "version %d\n", MeterVersion)
	for _, pattern := range []string{"testdata/*.wasm", "../testdata/*/*.wasm", "../../../plugins/*/*.wasm"} {
		modules, err := filepath.Glob(pattern)
		if err != nil || len(modules) == 0 {
			t.Fatalf("%s: %v, %d modules, expected some", pattern, err, len(modules))
		}
		for _, module := range modules {
			bin, err := os.ReadFile(module)
			if err != nil {
				t.Fatal(err)
			}
			made, err := Instrument(bin, Defaults())
			if err != nil {
				made = []byte(err.Error())
			}
			key := fmt.Sprintf("%s %.8x", filepath.ToSlash(module), sha256.Sum256(bin))
			sum := fmt.Sprintf("%.16x", sha256.Sum256(made))
			was, ok := known[key]
			if ok && was != sum && version >= MeterVersion {
				t.Fatalf("%s: Instrument makes something else of it than MeterVersion %d did, expected a higher MeterVersion", module, version)
			}
			if ok {
				compared++
			}
			fmt.Fprintf(after, "%s %s\n", key, sum)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(after.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	// A module that was built anew has no line: it says nothing of the meter.
	if version != MeterVersion || compared < 50 {
		t.Errorf("%s: of version %d, %d modules compared, expected version %d and at least 50: go test ./host/policy/wasm -run MeterVersion -update",
			path, version, compared, MeterVersion)
	}
}

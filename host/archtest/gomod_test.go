package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// broughtIn are the modules that come only because a module of the rules
// requires them.
var broughtIn = []string{
	"github.com/inconshreveable/mousetrap", // cobra, on Windows
	"golang.org/x/sys",                     // x/term
	"golang.org/x/tools",                   // go-internal

	"github.com/opencontainers/go-digest", // oras-go

	// koanf
	"github.com/fatih/structs", "github.com/fsnotify/fsnotify", "github.com/go-viper/mapstructure/v2", "github.com/knadh/koanf/maps",
	"github.com/mitchellh/copystructure", "github.com/mitchellh/reflectwalk",
	// client_golang
	"github.com/beorn7/perks", "github.com/cespare/xxhash/v2", "github.com/kylelemons/godebug", "github.com/munnerz/goautoneg",
	"github.com/prometheus/client_model", "github.com/prometheus/common", "github.com/prometheus/procfs", "google.golang.org/protobuf",
	// gopsutil
	"github.com/ebitengine/purego", "github.com/go-ole/go-ole", "github.com/lufia/plan9stats", "github.com/power-devops/perfstat",
	"github.com/tklauser/go-sysconf", "github.com/tklauser/numcpus", "github.com/yusufpapurcu/wmi",
	// sqlite
	"github.com/dustin/go-humanize", "github.com/mattn/go-isatty", "github.com/ncruces/go-strftime", "github.com/remyoudompheng/bigfft",
	"modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory",
	// client-go
	"github.com/davecgh/go-spew", "github.com/emicklei/go-restful/v3", "github.com/fxamacker/cbor/v2", "github.com/go-logr/logr",
	"github.com/go-openapi/jsonpointer", "github.com/go-openapi/jsonreference", "github.com/go-openapi/swag", "github.com/go-openapi/swag/cmdutils",
	"github.com/go-openapi/swag/conv", "github.com/go-openapi/swag/fileutils", "github.com/go-openapi/swag/jsonutils",
	"github.com/go-openapi/swag/loading", "github.com/go-openapi/swag/mangling", "github.com/go-openapi/swag/netutils",
	"github.com/go-openapi/swag/pools", "github.com/go-openapi/swag/stringutils", "github.com/go-openapi/swag/typeutils",
	"github.com/go-openapi/swag/yamlutils", "github.com/google/gnostic-models", "github.com/json-iterator/go", "github.com/modern-go/concurrent",
	"github.com/modern-go/reflect2", "github.com/pmezard/go-difflib", "github.com/x448/float16", "go.yaml.in/yaml/v2", "golang.org/x/net",
	"golang.org/x/text", "gopkg.in/evanphx/json-patch.v4", "gopkg.in/inf.v0", "k8s.io/klog/v2", "k8s.io/kube-openapi", "k8s.io/utils",
	"sigs.k8s.io/json", "sigs.k8s.io/randfill", "sigs.k8s.io/structured-merge-diff/v6", "sigs.k8s.io/yaml",
}

// goMod is what `go mod edit -json` prints, as far as it matters here.
type goMod struct {
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct{ Old struct{ Path string } }
}

// checkModules finds required modules that no row of the rules and no test
// needs, and replacements, which hold only for who builds in this folder.
func checkModules(m goMod) []string {
	direct := slices.Clone(testModules)
	for _, r := range rules {
		direct = append(direct, r.third...)
	}
	var found []string
	for _, r := range m.Require {
		if slices.Contains(direct, r.Path) || r.Indirect && slices.Contains(broughtIn, r.Path) {
			continue
		}
		found = append(found, fmt.Sprintf("go.mod: %s is in no row of host/archtest/rules_test.go and not among what those bring in", r.Path))
	}
	for _, r := range m.Replace {
		found = append(found, fmt.Sprintf("go.mod: replaces %s, which breaks go install of a version", r.Old.Path))
	}
	return found
}

func readMod(t *testing.T, name string) goMod {
	t.Helper()
	if _, err := os.ReadFile(name); err != nil { // so that the test runs again when it changes
		t.Fatal(err)
	}
	out, err := exec.Command("go", "mod", "edit", "-json", name).Output()
	if err != nil {
		t.Fatalf("go mod edit -json %s: %v", name, err)
	}
	var m goMod
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModules(t *testing.T) {
	report(t, checkModules(readMod(t, filepath.Join(top, "go.mod"))))
}

func TestCheckModules(t *testing.T) {
	f := func(text string, words ...string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "go.mod")
		if err := os.WriteFile(name, []byte("module example.org/m\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		want(t, checkModules(readMod(t, name)), words...)
	}
	f("require (\n\tgonum.org/v1/gonum v0.17.0\n\tpgregory.net/rapid v1.3.0\n\tgolang.org/x/sys v0.1.0 // indirect\n)")
	f("require golang.org/x/sys v0.1.0", "golang.org/x/sys is in no row")
	f("require k8s.io/kubernetes v1.37.2", "k8s.io/kubernetes is in no row")
	f("require k8s.io/kubernetes v1.37.2 // indirect", "k8s.io/kubernetes is in no row")
	f("replace gonum.org/v1/gonum => ../gonum", "replaces gonum.org/v1/gonum")
}

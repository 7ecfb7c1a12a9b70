package archtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// rule says what the source of one package may import beyond the standard
// library. Tests are freer: see checkImports.
type rule struct {
	core  bool     // below the purity line
	may   []string // packages of Poise; anyCore stands for all below the line
	third []string // modules
	rand  bool     // may make a seeded math/rand.Rand: the published experiment needs Go's classic source
	pcg   bool     // may make a seeded math/rand/v2.PCG, whose numbers no version of Go may change
}

const anyCore = "every package of the core"

// Modules that more than one package may use.
const (
	gonum      = "gonum.org/v1/gonum"
	yaml       = "go.yaml.in/yaml/v3"
	wazero     = "github.com/tetratelabs/wazero"
	pflag      = "github.com/spf13/pflag"
	prometheus = "github.com/prometheus/client_golang"
)

// kubernetes is the client of Kubernetes and what it knows of scheduling.
// k8s.io/kubernetes is not among it: nothing of that may be in go.mod.
var kubernetes = []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/component-helpers", "k8s.io/klog/v2", "github.com/go-logr/logr"}

// rules has a row for every package that is or will be: the import graph. A
// shell package is named after what it adapts and knows the core, never
// another shell package; daemon and cli compose them.
var rules = map[string]rule{
	"abi":                  {core: true},
	"abi/guest":            {},
	"abi/guest/go":         {},
	"abi/guest/go/filter":  {may: []string{"abi/guest/go"}},
	"abi/guest/go/harness": {may: []string{"abi/guest/go"}},
	"abi/guest/go/score":   {may: []string{"abi/guest/go"}},
	"abi/conformance":      {may: []string{anyCore, "host/policy"}},
	"host/resource":        {core: true},
	"host/poise":           {core: true, may: []string{"host/resource"}},
	"host/access":          {core: true, may: []string{"host/poise"}},
	"host/state":           {core: true, may: []string{"host/poise", "host/resource"}},
	"host/queue":           {core: true, may: []string{"host/poise", "host/resource"}},
	"host/spectral":        {core: true, third: []string{gonum}},
	"host/model":           {core: true, may: []string{"host/spectral", "host/state", "host/poise", "host/resource"}, third: []string{gonum}},
	"host/balance":         {core: true, may: []string{"host/state", "host/poise", "host/resource"}, third: []string{gonum}},
	"host/sched":           {core: true, may: []string{"host/model", "host/state", "host/poise", "host/resource"}},
	"host/preempt":         {core: true, may: []string{"host/sched", "host/state", "host/poise"}},
	"host/loop":            {core: true, may: []string{"host/preempt", "host/sched", "host/queue", "host/balance", "host/model", "host/state", "host/poise"}},
	"host/shadow":          {core: true, may: []string{"host/sched", "host/balance", "host/state", "host/poise", "host/resource"}},
	"host/journal":         {core: true, may: []string{"host/model", "host/state", "host/poise"}},
	"host/sim":             {core: true, may: []string{"host/preempt", "host/loop", "host/sched", "host/queue", "host/balance", "host/model", "host/state", "host/poise", "host/resource"}, rand: true},
	"host/workload":        {core: true, may: []string{"host/poise", "host/resource"}, pcg: true},
	"host/advice":          {core: true, may: []string{"host/sched", "host/balance", "host/model", "host/state", "host/poise", "host/resource"}},
	"host/sim/baseline":    {core: true, may: []string{"host/sched", "host/state", "host/poise", "host/resource"}, rand: true},

	// The purity line.

	"host/manifest":          {may: []string{anyCore}, third: []string{yaml}},
	"host/report":            {may: []string{anyCore}},
	"host/policy/wasm":       {},
	"host/policy":            {may: []string{"abi", "host/policy/wasm", "host/state", "host/poise", "host/resource"}, third: []string{wazero}},
	"host/registry":          {may: []string{"abi", "abi/conformance", "host/policy", "host/poise", "host/registry/minisign"}},
	"host/registry/minisign": {may: []string{"host/poise"}, third: []string{"aead.dev/minisign", "golang.org/x/crypto"}},
	"host/registry/oci":      {may: []string{"abi", "host/poise"}, third: []string{"oras.land/oras-go/v2", "github.com/opencontainers/image-spec"}},
	"host/stack":             {may: []string{anyCore, "abi", "host/policy"}},
	"host/outlook":           {may: []string{anyCore, "host/stack", "host/api/client"}},
	"host/snapshot":          {may: []string{anyCore}},
	"host/store":             {may: []string{"host/state", "host/poise", "host/resource"}, third: []string{"modernc.org/sqlite"}},
	"host/engine":            {may: []string{"host/poise", "host/resource"}},
	"host/engine/local":      {may: []string{"host/engine", "host/poise", "host/resource"}},
	"host/engine/sim":        {may: []string{"host/engine", "host/poise", "host/resource"}},
	"host/engine/kube":       {may: []string{"host/engine", "host/poise", "host/resource"}, third: kubernetes},
	"host/node":              {may: []string{"host/poise", "host/resource"}, third: []string{"github.com/shirou/gopsutil/v4"}},
	"host/api":               {may: []string{anyCore, "host/api/client", "host/manifest"}, third: []string{"github.com/danielgtaylor/huma/v2", "golang.org/x/time", prometheus}},
	"host/api/apitest":       {may: []string{"host/access", "host/api/client", "host/poise", "host/resource"}},
	"host/api/client":        {may: []string{"host/poise", "host/resource"}},
	"host/cert":              {may: []string{"host/access", "host/poise"}},
	"host/oidc":              {may: []string{"host/access", "host/poise"}, third: []string{"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4", "golang.org/x/oauth2", "golang.org/x/time"}},
	"host/oidc/oidctest":     {third: []string{"github.com/go-jose/go-jose/v4"}},
	"host/ui":                {may: []string{anyCore, "host/report"}},
	"host/config": {may: []string{"host/access"}, third: []string{
		"github.com/knadh/koanf/v2", "github.com/knadh/koanf/parsers/yaml", "github.com/knadh/koanf/providers/env/v2",
		"github.com/knadh/koanf/providers/file", "github.com/knadh/koanf/providers/posflag", "github.com/knadh/koanf/providers/structs", pflag,
	}},
	"host/telemetry": {third: []string{prometheus}},
	"host/daemon": {
		may: []string{
			anyCore, "host/manifest", "host/policy", "host/stack", "host/outlook", "host/snapshot", "host/registry", "host/store", "host/engine", "host/engine/local", "host/engine/sim", "host/engine/kube",
			"host/node", "host/api", "host/api/client", "host/cert", "host/oidc", "host/ui", "host/config", "host/telemetry",
		},
		third: []string{"golang.org/x/sync", "github.com/google/uuid", prometheus},
	},
	"host/cli": {
		may:   []string{anyCore, "host/manifest", "host/report", "host/policy", "host/stack", "host/outlook", "host/snapshot", "host/registry/minisign", "host/registry/oci", "abi/conformance", "abi/guest", "host/config", "host/daemon", "host/engine/local", "host/telemetry", "host/api", "host/api/client", "host/oidc"},
		third: []string{"github.com/spf13/cobra", pflag, yaml, "golang.org/x/term", "golang.org/x/sync"},
	},
	"cmd/poise": {may: []string{"host/cli"}},

	"examples/executor": {may: []string{"host/api/client", "host/poise"}},

	"plugins/spread-domains": {may: []string{"abi/guest/go", "abi/guest/go/filter", "abi/guest/go/score"}},
	"plugins/only-class":     {may: []string{"abi/guest/go", "abi/guest/go/filter", "abi/guest/go/score"}},
	"test/benchpolicy":       {may: []string{anyCore, "host/policy", "host/policy/wasm", "host/manifest", "host/report"}, third: []string{wazero}},
	"test/benchtenants":      {may: []string{"host/poise", "host/policy", "host/store", "host/daemon", "host/api/client", "host/config", "host/report", "abi/conformance"}},
	"test/benchdaemon":       {may: []string{"host/poise", "host/store", "host/daemon", "host/api/client", "host/config", "host/report"}},

	"test/openapi":    {},
	"test/openb":      {may: []string{anyCore}},
	"test/fleets":     {may: []string{"host/poise", "host/resource"}},
	"test/bench":      {may: []string{anyCore, "host/manifest", "host/report"}},
	"test/benchqueue": {may: []string{anyCore, "host/report"}},
	"test/benchmodel": {may: []string{anyCore, "host/manifest", "host/report", "test/fleets"}},
	"host/archtest":   {},
}

// testModules may be imported by any test, and by nothing else.
var testModules = []string{
	"pgregory.net/rapid", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "github.com/chromedp/chromedp",
	wazero,                // the rewriter is compared with it
	"golang.org/x/crypto", // passwords of a registry that a test runs
}

// pureStd is the part of the standard library that the core may import: what
// computes and nothing else. Missing on purpose: time (poise.Time and
// poise.Span serve), io, os, net, log, context, sync, runtime, unsafe, and
// hash/maphash, which differs from run to run.
var pureStd = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "crypto/subtle", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "hash", "hash/fnv",
	"iter", "maps", "math", "math/big", "math/bits", "slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
}

// allowed spells out which packages of Poise r lets in.
func (r rule) allowed() []string {
	var all []string
	for _, m := range r.may {
		if m != anyCore {
			all = append(all, m)
			continue
		}
		for name, other := range rules {
			if other.core {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// within says whether an import path is of one of the modules.
func within(importPath string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return importPath == m || strings.HasPrefix(importPath, m+"/")
	})
}

// The table itself: the core stays below the line, and every name in it has a
// row.
func TestRulesHoldTogether(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		for _, m := range rules[name].allowed() {
			other, known := rules[m]
			if !known {
				t.Errorf("%s may import %s, which has no row", name, m)
			}
			if rules[name].core && !other.core {
				t.Errorf("%s is core and may import %s, which is not", name, m)
			}
		}
		for _, m := range rules[name].third {
			if name != "host/engine/kube" && slices.Contains(kubernetes, m) {
				t.Errorf("%s may import %s, which is for host/engine/kube alone", name, m)
			}
		}
		if !rules[name].core {
			continue
		}
		for _, m := range rules[name].third {
			if m != gonum {
				t.Errorf("%s is core and may import %s; gonum alone is let in there", name, m)
			}
		}
	}
}

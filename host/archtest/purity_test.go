package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// seeded are the names of math/rand that do not touch its global source.
var seeded = []string{"New", "NewSource", "Rand", "Source"}

// checkPurity finds what a core package may not do: have a clock, I/O,
// goroutines, or randomness that was not handed in.
func checkPurity(p *pkg) []string {
	r := rules[p.dir]
	info := p.names()
	var found []string
	for _, f := range p.source() {
		for _, spec := range f.ast.Imports {
			importPath := importPath(spec)
			first, _, _ := strings.Cut(importPath, "/")
			switch {
			case spec.Name != nil && spec.Name.Name == ".":
				found = append(found, p.at(spec, "imports %s into its own names, which hides what it uses of it", importPath))
			case importPath == "math/rand" && r.rand, importPath == "math/rand/v2" && r.pcg, strings.Contains(first, "."), slices.Contains(pureStd, importPath):
			default:
				found = append(found, p.at(spec, "imports %s, which the core may not: no clock, I/O, goroutine or global state there", importPath))
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if what := impure(info, n); what != "" {
				found = append(found, p.at(n, "%s in the core", what))
			}
			return true
		})
	}
	return found
}

// impure names what n does that the core may not; "" if nothing.
func impure(info *types.Info, n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.SelectStmt:
		return "a select statement"
	case *ast.ChanType:
		return "a channel"
	case *ast.SendStmt:
		return "a send on a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a receive from a channel"
		}
	case *ast.Ident:
		if b, ok := info.Uses[n].(*types.Builtin); ok && (b.Name() == "print" || b.Name() == "println") {
			return b.Name()
		}
	case *ast.SelectorExpr:
		from, name := imported(info, n)
		switch {
		case from == "math/rand" && !slices.Contains(seeded, name):
			return "rand." + name + ", which draws from the global source,"
		case from == "math/rand/v2" && name != "PCG" && name != "NewPCG":
			return "rand." + name + ", which is not the source PCG itself,"
		case from == "fmt" && (strings.HasPrefix(name, "Print") || strings.Contains(name, "Scan") && !strings.HasPrefix(name, "Ss")):
			return "fmt." + name
		}
	}
	return ""
}

func TestPurity(t *testing.T) {
	for _, p := range product(t) {
		if rules[p.dir].core {
			report(t, checkPurity(p))
		}
	}
}

func TestCheckPurity(t *testing.T) {
	f := func(dir, src string, words ...string) {
		t.Helper()
		want(t, checkPurity(fake(t, dir, "package p\n"+src)), words...)
	}
	f("host/queue", `import ("fmt"; "math"); func f() error { return fmt.Errorf("%g", math.Sqrt(2)) }`)
	f("host/queue", `import "time"; var now = time.Now()`, "a.go:2: imports time")
	f("host/queue", `import t "time"; func f() { t.Sleep(1) }`, "imports time")
	f("host/queue", `import "os"`, "imports os")
	f("host/queue", `import "net/http"`, "imports net/http")
	f("host/queue", `import "log/slog"`, "imports log/slog")
	f("host/queue", `import "sync/atomic"`, "imports sync/atomic")
	f("host/queue", `import _ "embed"`, "imports embed")
	f("host/queue", `import . "fmt"`, "imports fmt into its own names")
	f("host/queue", `import "C"`, "imports C")
	f("host/queue", `func f() { go f() }`, "a go statement")
	f("host/queue", `func f(c chan int) { c <- <-c }`, "a channel", "a send", "a receive")
	f("host/queue", `func f() { select {} }`, "a select statement")
	f("host/queue", `func f() { println() }`, "println")
	f("host/queue", `func println() {}; func f() { println() }`)
	f("host/queue", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println")
	f("host/queue", `import out "fmt"; var f = out.Printf`, "fmt.Printf")
	f("host/queue", `import "fmt"; func f(s string, n *int) { fmt.Sscan(s, n) }`)
	f("host/queue", `import "math/rand"; var r *rand.Rand`, "imports math/rand")
	f("host/sim", `import "math/rand"; func f(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }`)
	f("host/sim", `import "math/rand"; func f() int { return rand.Intn(3) }`, "rand.Intn, which draws from the global source")
	f("host/sim", `import "math/rand"; func f(rand *rand.Rand) int { return rand.Intn(3) }`)
	f("host/sim", `import "math/rand/v2"`, "imports math/rand/v2")
	f("host/workload", `import "math/rand/v2"; func f(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0) }`)
	f("host/workload", `import "math/rand/v2"; func f() int { return rand.IntN(3) }`, "rand.IntN, which is not the source PCG itself")
	f("host/workload", `import "math/rand"`, "imports math/rand")
}

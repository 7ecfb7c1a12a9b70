package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// checkInit finds init functions: what they do happens to every program that
// links the package, in an order that nobody wrote down.
func checkInit(p *pkg) []string {
	var found []string
	for _, f := range p.source() {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, p.at(fn, "an init function; call it from where it is needed"))
			}
		}
	}
	return found
}

// checkGlobals finds package variables that can change. Let in are the blank
// name (a compile-time guard), errors by the name of Err…, and unexported
// tables: given a value where they are declared, never written to, no pointer
// taken, no method called that could change them. Not seen: that a table's
// slice or map is handed out and written to elsewhere, and what the methods of
// another package's type do.
func checkGlobals(p *pkg) []string {
	info := p.names()
	changed := map[types.Object]ast.Node{}
	for _, f := range p.source() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			for _, e := range targets(info, n) {
				if obj := base(info, e); obj != nil && changed[obj] == nil {
					changed[obj] = n
				}
			}
			return true
		})
	}
	var found []string
	for _, f := range p.source() {
		for _, d := range f.ast.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.ValueSpec)
				for _, name := range spec.Names {
					obj := info.Defs[name]
					switch {
					case name.Name == "_":
					case changed[obj] != nil:
						found = append(found, p.at(changed[obj], "changes the package variable %s; state belongs in values", name.Name))
					case name.IsExported() && !strings.HasPrefix(name.Name, "Err"):
						found = append(found, p.at(name, "%s is an exported variable, which any package may change; use a constant or a function", name.Name))
					case len(spec.Values) == 0:
						found = append(found, p.at(name, "the package variable %s has no value of its own; state belongs in values", name.Name))
					}
				}
			}
		}
	}
	return found
}

// targets gives the expressions that n writes to, or that it hands to someone
// who can.
func targets(info *types.Info, n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		return []ast.Expr{n.Key, n.Value}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		fn, ok := n.Fun.(*ast.Ident)
		if !ok || len(n.Args) == 0 {
			return nil
		}
		if b, ok := info.Uses[fn].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy") {
			return n.Args[:1]
		}
	case *ast.SelectorExpr:
		if sel := info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal {
			if _, ok := sel.Obj().Type().(*types.Signature).Recv().Type().(*types.Pointer); ok {
				return []ast.Expr{n.X}
			}
		}
	}
	return nil
}

// base gives the package variable that e is, or is a part of; nil where there
// is none.
func base(info *types.Info, e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			v, ok := info.Uses[x].(*types.Var)
			if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
				return nil
			}
			return v
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, p := range product(t) {
		report(t, checkInit(p))
	}
}

func TestNoGlobals(t *testing.T) {
	for _, p := range product(t) {
		if rules[p.dir].core {
			report(t, checkGlobals(p))
		}
	}
}

func TestCheckInit(t *testing.T) {
	f := func(src string, words ...string) {
		t.Helper()
		want(t, checkInit(fake(t, "host/queue", "package p\n"+src)), words...)
	}
	f(`func begin() {}`)
	f(`func init() {}`, "a.go:2: an init function")
	f(`type s struct{}; func (s) init() {}`)
}

func TestCheckGlobals(t *testing.T) {
	f := func(src string, words ...string) {
		t.Helper()
		want(t, checkGlobals(fake(t, "host/queue", "package p\n"+src)), words...)
	}
	f(`import "errors"; var ErrFull = errors.New("full"); var errNone = errors.New("none")`)
	f(`var _ error = (*E)(nil); type E struct{}; func (*E) Error() string { return "" }`)
	f(`var names = [...]string{"a", "b"}; func f(i int) string { return names[i] }`)
	f(`var names = map[string]int{"a": 1}; func f() { for k, v := range names { _, _ = k, v } }`)
	f(`var square = func(x int) int { return x * x }; func f() int { return square(2) }`)
	f(`var n = 1; func f() { n := 2; n++; _ = n }`) // another n
	f(`var Names = []string{"a"}`, "Names is an exported variable")
	f(`var cache map[string]int`, "cache has no value of its own")
	f(`var n = 1; func f() { n = 2 }`, "a.go:2: changes the package variable n")
	f(`var n = 1; func f() { n++ }`, "changes the package variable n")
	f(`var n = 1; func f() *int { return &n }`, "changes the package variable n")
	f(`var n = 1; func f() { for n = range 3 { } }`, "changes the package variable n")
	f(`var m = map[string]int{}; func f() { m["a"] = 1 }`, "changes the package variable m")
	f(`var m = map[string]int{}; func f() { delete(m, "a") }`, "changes the package variable m")
	f(`var s = struct{ a [2]int }{}; func f() { (s).a[0] += 1 }`, "changes the package variable s")
	f(`type c struct{ n int }; func (c *c) add() { c.n++ }; var hits = c{}; func f() { hits.add() }`, "changes the package variable hits")
	f(`type c struct{ n int }; func (c *c) add() { c.n++ }; var hits = new(c); var g = hits.add`, "changes the package variable hits")
	f(`type c struct{ n int }; func (c c) get() int { return c.n }; var one = c{1}; func f() int { return one.get() }`)
	f(`var a = []int{1}; func f() { copy(a[:1], []int{2}) }`, "changes the package variable a")
}

package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/poise-sched/poise"

// file is one Go source file, whatever its platform and build tags.
type file struct {
	name  string // path from the repository's root, with slashes
	lines int
	test  bool
	ast   *ast.File
}

// pkg is a folder with Go files.
type pkg struct {
	dir    string // path from the repository's root; an import path without the module
	nested bool   // in a module of its own
	fset   *token.FileSet
	files  []file
}

// source gives the files that are not tests.
func (p *pkg) source() []file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f file) bool { return f.test })
}

// at says where a finding is.
func (p *pkg) at(n ast.Node, format string, args ...any) string {
	pos := p.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: %s", pos.Filename, pos.Line, fmt.Sprintf(format, args...))
}

// add parses one file into p.
func (p *pkg) add(name string, src []byte) error {
	tree, err := parser.ParseFile(p.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files = append(p.files, file{
		name:  name,
		lines: bytes.Count(src, []byte("\n")),
		test:  strings.HasSuffix(name, "_test.go"),
		ast:   tree,
	})
	return nil
}

// names says what each name in p's source means. Imports are not loaded: a name
// of another package is known by that package's path, and the type errors that
// follow are no concern of a test of shape.
func (p *pkg) names() *types.Info {
	info := &types.Info{
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	var trees []*ast.File
	for _, f := range p.source() {
		trees = append(trees, f.ast)
	}
	conf := types.Config{Importer: hollow{}, Error: func(error) {}}
	_, _ = conf.Check(p.dir, p.fset, trees, info) // its errors went to conf.Error
	return info
}

// hollow imports every package as an empty one.
type hollow struct{}

func (hollow) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	name := path.Base(importPath)
	if name == "v2" { // math/rand/v2 is package rand
		name = path.Base(path.Dir(importPath))
	}
	empty := types.NewPackage(importPath, name)
	empty.MarkComplete()
	return empty, nil
}

// imported gives the path of the package that e names something of, and that
// something's name; "" and "" where e is anything else.
func imported(info *types.Info, e ast.Expr) (importPath, name string) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	if of, ok := info.Uses[id].(*types.PkgName); ok {
		return of.Imported().Path(), sel.Sel.Name
	}
	return "", ""
}

// importPath gives the path that an import names.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("BUG: the parser passed import " + spec.Path.Value)
	}
	return p
}

// fake makes a package of the given folder from one source text a file, named
// a.go, b.go, and so on.
func fake(t *testing.T, dir string, sources ...string) *pkg {
	t.Helper()
	p := &pkg{dir: dir, fset: token.NewFileSet()}
	for i, src := range sources {
		if err := p.add(path.Join(dir, string(rune('a'+i))+".go"), []byte(src)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// top is the repository's root, seen from this package's folder.
var top = filepath.Join("..", "..")

// tree gives every package of the repository, in order of folder.
func tree(t *testing.T) []*pkg {
	t.Helper()
	pkgs, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// product is tree without the nested modules.
func product(t *testing.T) []*pkg {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(tree(t)), func(p *pkg) bool { return p.nested })
}

// parsed parses every Go file of the repository, once for all tests.
var parsed = sync.OnceValues(func() ([]*pkg, error) {
	var pkgs []*pkg
	var nested []string // folders of nested modules, each with a trailing slash
	err := filepath.WalkDir(top, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "." {
				return nil
			}
			if hidden(d.Name()) || rel == "bin" || rel == "out" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(full, "go.mod")); err == nil {
				nested = append(nested, rel+"/")
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		if path.Ext(rel) != ".go" || hidden(d.Name()) {
			return nil
		}
		src, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pkgs, func(p *pkg) bool { return p.dir == path.Dir(rel) })
		if i < 0 {
			i = len(pkgs)
			pkgs = append(pkgs, &pkg{
				dir:    path.Dir(rel),
				nested: slices.ContainsFunc(nested, func(n string) bool { return strings.HasPrefix(rel, n) }),
				fset:   token.NewFileSet(),
			})
		}
		return pkgs[i].add(rel, src)
	})
	return pkgs, err
})

// hidden says whether the go command passes over files and folders of this
// name.
func hidden(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// report fails the test with each finding on a line of its own.
func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

// want fails the test unless there is one finding for each of the words, in
// order, that holds it.
func want(t *testing.T, got []string, words ...string) {
	t.Helper()
	if len(got) != len(words) {
		t.Fatalf("got %d findings, want %d: %q", len(got), len(words), got)
	}
	for i := range got {
		if !strings.Contains(got[i], words[i]) {
			t.Errorf("finding %d is %q, want one that says %q", i, got[i], words[i])
		}
	}
}

// The tree is really read: a walk that finds nothing would pass every check.
func TestTree(t *testing.T) {
	for _, dir := range []string{"host/poise", "host/archtest"} {
		i := slices.IndexFunc(product(t), func(p *pkg) bool { return p.dir == dir })
		if i < 0 {
			t.Errorf("%s was not seen", dir)
			continue
		}
		if p := product(t)[i]; len(p.files) < 2 || p.files[0].lines == 0 {
			t.Errorf("%s: %d files seen, the first of %d lines", dir, len(p.files), p.files[0].lines)
		}
	}
}

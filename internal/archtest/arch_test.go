package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/cluster-network-operator/cno"

// file is one Go source file of the module that is not a test.
type file struct {
	path, dir string
	ast       *ast.File
}

func sources(t *testing.T) (*token.FileSet, []file) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), []file(nil)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.IsDir() {
			if rel == "e2e" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(set, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file{path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), ast: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, files
}

func imports(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

func TestEveryPackageHasALayer(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		if _, ok := LayerOf(f.dir); !ok {
			t.Errorf("%s: no layer is given for this directory; add it to layers.go", f.path)
		}
	}
}

func TestImportsPointUpwards(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		from, _ := LayerOf(f.dir)
		for _, imp := range imports(f.ast) {
			dir, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			if to, ok := LayerOf(dir); ok && to > from {
				t.Errorf("%s: %s (%s) imports %s (%s)", f.path, f.dir, from, dir, to)
			}
		}
	}
}

func TestSiblingsDoNotImportEachOther(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		unit := Unit(f.dir)
		if unit == "" {
			continue
		}
		for _, imp := range imports(f.ast) {
			dir, ours := strings.CutPrefix(imp, module+"/")
			if ours && Unit(dir) != "" && Unit(dir) != unit {
				t.Errorf("%s imports its sibling %s", f.path, dir)
			}
		}
	}
}

func TestPureCodeReadsNothing(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		l, _ := LayerOf(f.dir)
		if l == Nouns || l > Providers {
			continue
		}
		for _, imp := range imports(f.ast) {
			if Impure(imp) {
				t.Errorf("%s: %s is pure and may not import %s", f.path, f.dir, imp)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isPackage(s.X, "time") && (s.Sel.Name == "Now" || s.Sel.Name == "Sleep") {
				t.Errorf("%s: time.%s in pure code; take the time as an argument", set.Position(n.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}

func TestOnlyProgramsReadTheEnvironment(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		// Harnesses for tests and scripts are configured by the environment alone.
		if strings.HasPrefix(f.dir, "cmd/") || strings.HasPrefix(f.dir, "hack") || strings.HasPrefix(f.dir, "internal/testing/") || strings.HasSuffix(f.dir, "test") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isPackage(s.X, "os") && (s.Sel.Name == "Getenv" || s.Sel.Name == "LookupEnv" || s.Sel.Name == "Environ") {
				t.Errorf("%s: os.%s outside cmd/", set.Position(n.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}

func TestNothingRegistersItself(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init function", set.Position(fn.Pos()))
			}
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	_, files := sources(t)
	documented := map[string]bool{}
	for _, f := range files {
		documented[f.dir] = documented[f.dir] || f.ast.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func isPackage(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// dumps are the functions of the library of netlink whose answer may lack entries while others change, with the error ErrDumpInterrupted.
var dumps = regexp.MustCompile(`^(Link|Addr|Route|Neigh|Rule)List`)

// TestNetlinkDumpsAreReadCompletely: on a node with pods that come and go, lists are interrupted often.
func TestNetlinkDumpsAreReadCompletely(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && isPackage(s.X, "netlinkdump") {
					return false
				}
			}
			if s, ok := n.(*ast.SelectorExpr); ok && isPackage(s.X, "netlink") && dumps.MatchString(s.Sel.Name) {
				t.Errorf("%s: netlink.%s; call it by netlinkdump.All", set.Position(n.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}

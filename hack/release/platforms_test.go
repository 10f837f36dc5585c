package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCnoCompilesForAllSystems checks the types of everything that cno consists of, as a build for the system does. Compiling and
// linking takes minutes; make release does both.
func TestCnoCompilesForAllSystems(t *testing.T) {
	var systems []string
	for _, p := range (&build{}).platforms() {
		if p.os != "linux" && !slices.Contains(systems, p.os) { // tests of cno build it for Linux
			systems = append(systems, p.os)
		}
	}
	if len(systems) < 2 {
		t.Fatalf("beside Linux, cno is released for %v only", systems)
	}
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			own := 0
			check := checker{files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
			for _, p := range dependencies(t, system, "./cmd/cno") {
				if strings.HasPrefix(p.ImportPath, module) {
					own++
				}
				for _, err := range check.check(p) {
					t.Error(err)
				}
			}
			if own < 100 {
				t.Errorf("only %d packages of this module were checked", own)
			}
		})
	}
}

// TestCheckerFindsIdentifiersOfOtherSystems ensures that the test above can fail.
func TestCheckerFindsIdentifiersOfOtherSystems(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.CLONE_NEWNET }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for system, want := range map[string]int{"linux": 0, "darwin": 1} {
		check := checker{files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
		found := 0
		for _, p := range dependencies(t, system, source) {
			if p.ImportPath == "command-line-arguments" {
				p.ImportPath = module + "cmd/example"
			}
			found += len(check.check(p))
		}
		if found != want {
			t.Errorf("%s: %d errors, want %d", system, found, want)
		}
	}
}

// module is the prefix of the packages whose functions are checked, too.
const module = "github.com/cluster-network-operator/cno/"

// listed is a package of go list.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Error           *struct{ Err string }
}

// dependencies are the packages of a program on an operating system, each after those that it imports.
func dependencies(t *testing.T, system, program string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Error", program)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []listed
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// checker checks packages from their sources.
type checker struct {
	files *token.FileSet
	done  map[string]*types.Package
}

// check returns the errors of a package. Those that it imports were checked before.
func (c *checker) check(p listed) []error {
	if p.ImportPath == "unsafe" {
		return nil
	}
	if p.Error != nil {
		return []error{errors.New(p.ImportPath + ": " + p.Error.Err)}
	}
	var found []error
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			found = append(found, err)
			continue
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Importer: imported{c.done, p.ImportMap}, IgnoreFuncBodies: !strings.HasPrefix(p.ImportPath, module), Sizes: types.SizesFor("gc", "arm64"),
		Error: func(err error) { found = append(found, err) },
	}
	c.done[p.ImportPath], _ = config.Check(p.ImportPath, c.files, parsed, nil) // every error is in found
	return found
}

// imported finds packages that were checked, by the paths in a source.
type imported struct {
	done  map[string]*types.Package
	paths map[string]string
}

func (i imported) Import(path string) (*types.Package, error) {
	if actual, ok := i.paths[path]; ok {
		path = actual
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("package " + path + " was not checked")
}

package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestTestPackagesAreMarked: a package that no binary contains is below internal/testing, or its name ends in test.
func TestTestPackagesAreMarked(t *testing.T) {
	_, files := sources(t)
	imported, code := map[string][]string{}, map[string]bool{}
	var open []string
	for _, f := range files {
		code[f.dir] = code[f.dir] || len(f.ast.Decls) > 0 // a package of tests alone has a comment, and no declarations
		if f.ast.Name.Name == "main" {
			open = append(open, f.dir)
		}
		for _, imp := range imports(f.ast) {
			if dir, ours := strings.CutPrefix(imp, module+"/"); ours {
				imported[f.dir] = append(imported[f.dir], dir)
			}
		}
	}
	binaries := map[string]bool{}
	for len(open) > 0 {
		dir := open[0]
		open = open[1:]
		if !binaries[dir] {
			binaries[dir] = true
			open = append(open, imported[dir]...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(code)) {
		if code[dir] && !binaries[dir] && !forTests(dir) {
			t.Errorf("%s: no binary contains this package; if tests use it, move it below internal/testing, or beside its users with a name that ends in test", dir)
		}
		if binaries[dir] && forTests(dir) {
			t.Errorf("%s: a binary contains this package, which is for tests by its name", dir)
		}
	}
}

// forTests reports whether a package is for tests by its name.
func forTests(dir string) bool {
	return strings.HasPrefix(dir, "internal/testing/") || strings.HasSuffix(path.Base(dir), "test")
}

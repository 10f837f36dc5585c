// Package assets finds the programs that tests run and that others have written: etcd, the standard CNI plugins, and more.
package assets

import (
	"os"
	"path/filepath"
	"testing"
)

// variable names the directory of the programs; without it, they are where make test-assets builds them.
const variable = "CNO_TEST_ASSETS"

// Dir returns the directory of the programs. The test fails if one of the given names is not in it.
func Dir(t testing.TB, names ...string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		dir = filepath.Join(root(t), "_output", "lab", "bin")
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatalf("the test needs %s, which make test-assets builds (or set %s): %v", name, variable, err)
		}
	}
	return dir
}

// root returns the directory of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

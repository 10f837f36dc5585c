package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// TestNeverImported: what some packages must never do, as far as imports show.
func TestNeverImported(t *testing.T) {
	_, files := sources(t)
	for _, row := range []struct{ why, dir, prefix string }{
		{"what a tenant does wrong is reported on the tenant's object, and never on the status of the cluster", "internal/controller/egressrouter", module + "/internal/report"},
		{"numbers of certificates are such as no one can guess", "internal/certs", "math/rand"},
		{"the same for those that nodes get", "internal/controller/signer", "math/rand"},
		{"an API server's library is much to carry for two requests", "internal", "k8s.io/apiserver"},
		{"the same", "cmd", "k8s.io/apiserver"},
	} {
		for _, f := range files {
			if f.dir != row.dir && !strings.HasPrefix(f.dir, row.dir+"/") {
				continue
			}
			for _, imp := range imports(f.ast) {
				if imp == row.prefix || strings.HasPrefix(imp, row.prefix+"/") {
					t.Errorf("%s imports %s: %s", f.path, imp, row.why)
				}
			}
		}
	}
}

// TestStatusControllerDeletesNothing: who looks at how things are must not change them on the way.
func TestStatusControllerDeletesNothing(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		if f.dir != "internal/controller/clusterstatus" && f.dir != "internal/status" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "Delete" || s.Sel.Name == "DeleteAllOf") {
				t.Errorf("%s: the status loop deletes something", set.Position(n.Pos()))
			}
			return true
		})
	}
}

package metricsproxy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Proxies of all networks and components share the nodes' network: two with one port would keep each other's pods from being scheduled.
func TestEveryProxyHasItsOwnPort(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "metricsproxy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(constant.Names[0].Name, "Port") || len(constant.Values) == 0 {
			return true
		}
		port := constant.Values[0].(*ast.BasicLit).Value
		if other, taken := owner[port]; taken {
			t.Errorf("%s and %s are both %s", other, constant.Names[0].Name, port)
		}
		owner[port] = constant.Names[0].Name
		return true
	})
	if len(owner) < 10 {
		t.Errorf("only %d ports were found", len(owner))
	}
}

package archtest

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// TestNamesOfTheInstallationAreWrittenOnce: the operator, its commands and the agents agree on these names by one constant each.
func TestNamesOfTheInstallationAreWrittenOnce(t *testing.T) {
	set, files := sources(t)
	for _, row := range []struct {
		name, constant, file string
		// others are files in which the same text is the name of something else.
		others map[string]string
	}{
		{"openshift-network-operator", "status.OperatorNamespace", "internal/status/operator.go", nil},
		{"network-operator", "status.OperatorDeployment", "internal/status/operator.go", map[string]string{"config/monitoring/monitoring.go": "a dashboard"}},
		{"openshift-host-network", "nodereport.Namespace", "internal/dayone/nodereport/nodereport.go", nil},
		{"openshift-multus", "finding.Namespace", "internal/multinet/finding/report.go", map[string]string{"providers/multus/operands.go": "a ClusterRole"}},
	} {
		found := map[string]bool{}
		for _, f := range files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value)
				if text != row.name {
					return true
				}
				if f.path != row.file && row.others[f.path] == "" || found[f.path] {
					t.Errorf("%s: %q is written by hand; use %s", set.Position(n.Pos()), row.name, row.constant)
				}
				found[f.path] = true
				return true
			})
		}
		for file := range row.others {
			if !found[file] {
				t.Errorf("%s does not have %q any more: remove it from this test", file, row.name)
			}
		}
		if !found[row.file] {
			t.Errorf("%s does not have %q", row.file, row.name)
		}
	}
}

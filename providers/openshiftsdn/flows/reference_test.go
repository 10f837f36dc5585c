package flows_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/golden"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// TestReference: the document is that of the code.
func TestReference(t *testing.T) {
	golden.Compare(t, "../../../docs/providers/openshift-sdn-flows.md", []byte(sdn.Reference()))
}

// TestReferenceHasAllFlows: each flow has a table and a priority of the document, and each of these is that of some flow.
func TestReferenceHasAllFlows(t *testing.T) {
	place := regexp.MustCompile(`table=(\d+),priority=(\d+)`)
	used := map[string]bool{}
	for _, mode := range modes {
		for line := range strings.Lines(desired(t, full(mode)).Flows.String()) {
			used[place.FindString(line)] = true
		}
	}
	documented := map[string]bool{}
	for _, r := range sdn.Rules {
		documented[fmt.Sprintf("table=%d,priority=%d", r.Table, r.Priority)] = true
	}
	for p := range documented {
		if !used[p] {
			t.Errorf("%s is documented, and no flow has it", p)
		}
	}
	for p := range used {
		if !documented[p] && !strings.HasPrefix(p, "table=100,priority=1999") { // further rules of firewalls
			t.Errorf("a flow has %s, which is not documented", p)
		}
	}
}

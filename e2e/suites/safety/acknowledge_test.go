package safety

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// plan is the output of cno plan -o json.
type plan struct {
	Decision        string
	Acknowledgement string
	Changes         []struct{ Field, Decision, Rule, Disruption string }
	Objects         []struct{ Action, Kind, Namespace, Name, Diff string }
}

// planned is the plan for a configuration, with any decision.
func planned(t *testing.T, input string) plan {
	t.Helper()
	out, _, err := lab.CNO(context.Background(), input, "plan", "-f", "-", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var p plan
	if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '{'):strings.LastIndexByte(out, '}')+1]), &p); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return p
}

func TestDisruptiveChangeIsAppliedOnceAcknowledged(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	back(t)
	vxlan := network("", "backend: vxlan")
	p := planned(t, vxlan)
	if p.Decision != "needs-acknowledgement" || p.Acknowledgement == "" {
		t.Fatalf("the plan is %+v", p)
	}
	if out := cno(t, 1, vxlan, "apply", "-f", "-", "--force-conflicts"); !strings.Contains(out, p.Acknowledgement) {
		t.Errorf("without an acknowledgement:\n%s", out)
	}
	cno(t, 1, vxlan, "apply", "-f", "-", "--force-conflicts", "--acknowledge", strings.Repeat("0", 32))
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Errorf("a refused edit changes the cluster: %v", err)
	}
	cno(t, 0, vxlan, "apply", "-f", "-", "--force-conflicts", "--watch", "--acknowledge", p.Acknowledgement)
	kit.Eventually(t, time.Minute, "pods reach one another through vxlan", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
	if out := cno(t, 0, "", "history"); !strings.Contains(out, "acknowledged") || !strings.Contains(out, "defaultNetwork.flannelConfig.backend") {
		t.Errorf("the history does not report it:\n%s", out)
	}
	other := network("", "backend: vxlan, vxlan: {vni: 7}")
	cno(t, 1, other, "apply", "-f", "-", "--force-conflicts", "--acknowledge", p.Acknowledgement)
}

package safety

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// plan is what cno plan -o json answers.
type plan struct {
	Verdict         string
	Acknowledgement string
	Changes         []struct{ Field, Verdict, Rule, Disruption string }
	Objects         []struct{ Action, Kind, Namespace, Name, Diff string }
}

// planned is the plan for a configuration, with any verdict.
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

func TestADisruptiveChangeIsMadeOnceItIsAcknowledged(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	back(t)
	vxlan := network("", "backend: vxlan")
	p := planned(t, vxlan)
	if p.Verdict != "needs-acknowledgement" || p.Acknowledgement == "" {
		t.Fatalf("the plan says %+v", p)
	}
	if out := cno(t, 1, vxlan, "apply", "-f", "-", "--force-conflicts"); !strings.Contains(out, p.Acknowledgement) {
		t.Errorf("without an acknowledgement:\n%s", out)
	}
	cno(t, 1, vxlan, "apply", "-f", "-", "--force-conflicts", "--acknowledge", strings.Repeat("0", 32))
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Errorf("what is refused changes something: %v", err)
	}
	cno(t, 0, vxlan, "apply", "-f", "-", "--force-conflicts", "--watch", "--acknowledge", p.Acknowledgement)
	kit.Eventually(t, time.Minute, "pods reach one another through vxlan", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
	if out := cno(t, 0, "", "history"); !strings.Contains(out, "acknowledged") || !strings.Contains(out, "defaultNetwork.flannelConfig.backend") {
		t.Errorf("the history does not report it:\n%s", out)
	}
	other := network("", "backend: vxlan, vxlan: {vni: 7}")
	cno(t, 1, other, "apply", "-f", "-", "--force-conflicts", "--acknowledge", p.Acknowledgement)
}

func TestThePlanIsWhatHappens(t *testing.T) {
	back(t)
	debug := network("  logLevel: Debug\n", "")
	p := planned(t, debug)
	if p.Verdict != "safe" || len(p.Changes) != 1 || p.Changes[0].Field != "spec.logLevel" || p.Changes[0].Disruption != "pods restart" {
		t.Fatalf("the plan says %+v", p)
	}
	before := versions(t)
	cno(t, 0, debug, "apply", "-f", "-", "--force-conflicts", "--watch")
	after := versions(t)
	foretold := map[string]bool{}
	for _, o := range p.Objects {
		foretold[o.Kind+" "+o.Namespace+"/"+o.Name] = true
	}
	for object, generation := range after {
		if changed := before[object] != generation; changed != foretold[object] {
			t.Errorf("%s: changed %t, foretold %t", object, changed, foretold[object])
		}
	}
	if out := cno(t, 0, "", "diff"); !strings.Contains(out, "Unchanged") {
		t.Errorf("a difference is left:\n%s", out)
	}
}

// versions are the generations of all workloads of the network.
func versions(t *testing.T) map[string]string {
	t.Helper()
	out, err := lab.Kubectl(t.Context(), "get", "daemonsets,deployments", "-A", "-l", "app.kubernetes.io/managed-by=cluster-network-operator",
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}={.spec.template}{"\n"}{end}`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if object, generation, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[object] = generation
		}
	}
	return found
}

func TestTheWayBackIsOneCommand(t *testing.T) {
	back(t)
	cno(t, 0, network("  logLevel: Debug\n", ""), "apply", "-f", "-", "--force-conflicts", "--watch")
	cno(t, 0, "", "rollback", "--dry-run")
	if level, err := lab.Kubectl(t.Context(), "get", "networks.operator.openshift.io", "cluster", "-o", "jsonpath={.spec.logLevel}"); err != nil || level != "Debug" {
		t.Errorf("a dry run changes the log level to %q, %v", level, err)
	}
	cno(t, 0, "", "rollback", "--watch")
	if level, err := lab.Kubectl(t.Context(), "get", "networks.operator.openshift.io", "cluster", "-o", "jsonpath={.spec.logLevel}"); err != nil || level != "Normal" {
		t.Errorf("the log level is %q, %v", level, err)
	}
	cno(t, 2, "", "rollback", "999")
}

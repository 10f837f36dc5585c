package network

import (
	"encoding/json"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// plan is the output of cno plan -o json.
type plan struct {
	Decision string
	Changes  []struct{ Field, Disruption string }
	Objects  []struct{ Kind, Namespace, Name string }
}

// object is Network/cluster as the lab was created with it, changed by functions.
func object(t *testing.T, changes ...func(*operatorv1.NetworkSpec)) string {
	t.Helper()
	text, err := network.YAML(lab, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// debugging is a change for which every network and component has an operand.
func debugging(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug }

// back restores the network at the end of the test.
func back(t *testing.T) {
	t.Cleanup(func() { cnoInput(t, 0, object(t), "apply", "-f", "-", "--force-conflicts", "--watch") })
}

// planned is the plan for a configuration.
func planned(t *testing.T, input string) plan {
	t.Helper()
	out := cnoInput(t, 0, input, "plan", "-f", "-", "-o", "json")
	var p plan
	if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '{'):strings.LastIndexByte(out, '}')+1]), &p); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return p
}

func TestPlanMatchesWhatIsApplied(t *testing.T) {
	kit.Full(t)
	back(t)
	debug := object(t, debugging)
	p := planned(t, debug)
	if p.Decision != "safe" || len(p.Changes) != 1 || p.Changes[0].Field != "spec.logLevel" || p.Changes[0].Disruption != "pods restart" {
		t.Fatalf("the plan is %+v", p)
	}
	before := versions(t)
	cnoInput(t, 0, debug, "apply", "-f", "-", "--force-conflicts", "--watch")
	after := versions(t)
	predicted := map[string]bool{}
	for _, o := range p.Objects {
		predicted[o.Kind+" "+o.Namespace+"/"+o.Name] = true
	}
	for object, generation := range after {
		if changed := before[object] != generation; changed != predicted[object] {
			t.Errorf("%s: changed %t, predicted %t", object, changed, predicted[object])
		}
	}
	if out := cno(t, 0, "diff"); !strings.Contains(out, "Unchanged") {
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

func TestRollbackIsOneCommand(t *testing.T) {
	kit.Full(t)
	back(t)
	cnoInput(t, 0, object(t, debugging), "apply", "-f", "-", "--force-conflicts", "--watch")
	cno(t, 0, "rollback", "--dry-run")
	if level, err := lab.Kubectl(t.Context(), "get", "networks.operator.openshift.io", "cluster", "-o", "jsonpath={.spec.logLevel}"); err != nil || level != "Debug" {
		t.Errorf("a dry run changes the log level to %q, %v", level, err)
	}
	cno(t, 0, "rollback", "--watch")
	if level, err := lab.Kubectl(t.Context(), "get", "networks.operator.openshift.io", "cluster", "-o", "jsonpath={.spec.logLevel}"); err != nil || level != "Normal" {
		t.Errorf("the log level is %q, %v", level, err)
	}
	cno(t, 2, "rollback", "999")
}

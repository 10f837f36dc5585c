package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// scripts returns the health checks by group and kind, as Argo CD names them.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &patch); err != nil {
		t.Fatal(err)
	}
	return patch.Data
}

// run runs a health check on an object in YAML, as Argo CD does: with the object as obj, and the basic library only.
func run(t *testing.T, script, object string) (status, message string) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(object), &value); err != nil {
		t.Fatal(err)
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.Push(state.NewFunction(lua.OpenBase))
	state.Call(0, 0)
	state.SetGlobal("obj", decoded(state, value))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %v", state.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

// decoded is a JSON value as Lua has it.
func decoded(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, decoded(state, item))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(decoded(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

func TestHealth(t *testing.T) {
	const network, router, hosts, pki = "operator.openshift.io_Network", "network.operator.openshift.io_EgressRouter",
		"network.operator.openshift.io_HostNetworkConfig", "network.operator.openshift.io_OperatorPKI"
	all := scripts(t)
	for _, row := range []struct{ why, kind, object, status, message string }{
		{"an object without a status", network, `{metadata: {generation: 1}}`, "Progressing", "has not reported"},
		{"a status of an older generation", network, `{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`, "Progressing", "has not observed"},
		{"a network that works", network, `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [
			{type: Available, status: "True"}, {type: Degraded, status: "False"}, {type: Ready, status: "True"}, {type: Stalled, status: "False"}]}}`, "Healthy", ""},
		{"a refused edit", network, `{status: {conditions: [{type: Available, status: "True"}, {type: Degraded, status: "True", message: not applying}]}}`, "Degraded", "not applying"},
		{"a rollout", network, `{status: {conditions: [{type: Ready, status: "False"}, {type: Reconciling, status: "True", message: 1 of 3}]}}`, "Progressing", "1 of 3"},
		{"a pause", network, `{status: {conditions: [{type: Ready, status: "True"}, {type: Upgradeable, status: "False", reason: Paused, message: by kim}]}}`, "Suspended", "by kim"},
		{"an upgrade that waits is no pause", network, `{status: {conditions: [{type: Ready, status: "True"}, {type: Upgradeable, status: "False", reason: RolloutHung}]}}`, "Healthy", ""},
		{"a NetworkConfig that differs", "networkoperator.openshift.io_NetworkConfig", `{status: {conditions: [{type: Ready, status: "True"}, {type: Synced, status: "False", message: differs}]}}`, "Degraded", "differs"},
		{"a router that runs", router, `{status: {conditions: [{type: Available, status: "True"}, {type: Progressing, status: "False"}, {type: Degraded, status: "False"}]}}`, "Healthy", ""},
		{"a router that waits for its pod", router, `{status: {conditions: [{type: Available, status: "False", reason: Deploying}, {type: Progressing, status: "False"}, {type: Degraded, status: "False"}]}}`, "Progressing", "Deploying"},
		{"documents with errors", hosts, `{status: {conditions: [{type: Valid, status: "False", message: line 3}]}}`, "Degraded", "line 3"},
		{"documents that two nodes have not applied", hosts, `{status: {conditions: [{type: Valid, status: "True"}, {type: Rendered, status: "True"}, {type: Applied, status: "False", message: 1 of 3}]}}`, "Progressing", "1 of 3"},
		{"a certificate", pki, `{status: {conditions: [{type: Ready, status: "True"}, {type: Rotating, status: "True"}]}}`, "Healthy", ""},
	} {
		script := all["resource.customizations.health."+row.kind]
		if script == "" {
			t.Fatalf("%s: there is no health check for %s", row.why, row.kind)
		}
		if status, message := run(t, script, row.object); status != row.status || !strings.Contains(message, row.message) {
			t.Errorf("%s: %s %q, want %s %q", row.why, status, message, row.status, row.message)
		}
	}
}

// TestEveryKindWithAStatusHasAHealthCheck compares the health checks with the CRDs.
func TestEveryKindWithAStatusHasAHealthCheck(t *testing.T) {
	all := scripts(t)
	files, err := filepath.Glob("../../api/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Kind string
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct{ Subresources struct{ Status *struct{} } }
			}
		}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if crd.Kind != "CustomResourceDefinition" || len(crd.Spec.Versions) == 0 || crd.Spec.Versions[0].Subresources.Status == nil {
			continue
		}
		seen++
		if name := crd.Spec.Group + "_" + crd.Spec.Names.Kind; all["resource.customizations.health."+name] == "" {
			t.Errorf("there is no health check for %s", name)
		}
	}
	if seen < len(all) {
		t.Errorf("there are %d CRDs with a status, and health checks for %d", seen, len(all))
	}
}

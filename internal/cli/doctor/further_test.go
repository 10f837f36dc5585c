package doctor

import (
	"fmt"
	"strings"
	"testing"
)

func TestInvalidFurtherNetworksAreNamed(t *testing.T) {
	object := func(name, annotation string, spec map[string]any) map[string]any {
		o := thing(name, "ns", nil)
		o["spec"] = spec
		if annotation != "" {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{"k8s.v1.cni.cncf.io/policy-for": annotation}
		}
		return o
	}
	config := func(name, text string) map[string]any { return object(name, "", map[string]any{"config": text}) }
	fine := map[string]any{"podSelector": map[string]any{}}
	for _, row := range []struct {
		why                   string
		definitions, policies []map[string]any
		what, cause           string
	}{
		{"valid ones, and one whose configuration is a file of nodes", []map[string]any{config("a", `{"cniVersion":"1.0.0","type":"macvlan"}`), config("file", ""), object("none", "", nil)}, []map[string]any{object("p", "net1", fine)}, "", ""},
		{"no JSON: the place is shown", []map[string]any{config("broken", "{\n\"type\": }")}, nil, "NetworkAttachmentDefinitions are invalid: 1", "/broken: spec.config"},
		{"a place in several lines", []map[string]any{config("broken", "{\n\"type\": }")}, nil, "NetworkAttachmentDefinitions are invalid: 1", "at 2:9"},
		{"the shim itself", []map[string]any{config("loop", `{"type":"multus-shim"}`)}, nil, "NetworkAttachmentDefinitions are invalid: 1", "/loop: spec.config.type"},
		{"a policy for what is not a name", nil, []map[string]any{object("p", "Net_1", fine)}, "MultiNetworkPolicies are invalid: 1", "policy-for"},
		{"a policy with a range that is none", nil, []map[string]any{object("p", "net1", map[string]any{"podSelector": map[string]any{},
			"ingress": []any{map[string]any{"from": []any{map[string]any{"ipBlock": map[string]any{"cidr": "x"}}}}}})}, "MultiNetworkPolicies are invalid: 1", "spec.ingress[0].from[0].ipBlock.cidr"},
	} {
		f := &collected{objects: map[string][]map[string]any{section{resource: definitions}.name(): row.definitions, section{resource: multiPolicies}.name(): row.policies}}
		var found []Finding
		for _, finding := range evaluate(f, "openshift-network-operator", at) {
			if strings.Contains(finding.What, "are invalid") {
				found = append(found, finding)
			}
		}
		if len(found) == 0 && row.what == "" {
			continue
		}
		if len(found) != 1 || !strings.HasPrefix(found[0].What, row.what) || !strings.Contains(found[0].Cause, row.cause) || found[0].Severity != Warning {
			t.Errorf("%s: %+v", row.why, found)
		}
	}
	guard := thing("cluster", "", nil)
	guard["data"] = map[string]any{"spec.multiNetwork.namespaceIsolation": "true", "spec.multiNetwork.globalNamespaces": "default"}
	foreign := []map[string]any{object("p", "bank/lan", fine), object("q", "default/lan,own", fine)}
	if found := furtherNetworkFindings(nil, foreign, nil, []map[string]any{guard}); len(found) != 1 || !strings.Contains(found[0].What, "other namespaces: 1") || !strings.Contains(found[0].Cause, "bank/lan") {
		t.Errorf("%+v", found)
	}
	var many []map[string]any
	for i := range mostNamed + 2 {
		many = append(many, config(fmt.Sprint("n", i), "{"))
	}
	if found := furtherNetworkFindings(many, nil, nil, nil); len(found) != 1 || !strings.Contains(found[0].What, "invalid: 7") || !strings.HasSuffix(found[0].Cause, "and 2 more") {
		t.Errorf("%+v", found)
	}
}

func TestDefinitionsThatNodesCannotServeAreNamed(t *testing.T) {
	daemon := func(node, app, report string) map[string]any {
		o := thing("multus-"+node, "openshift-multus", nil)
		o["metadata"].(map[string]any)["annotations"] = map[string]any{"networkoperator.openshift.io/further-networks": report}
		o["metadata"].(map[string]any)["labels"] = map[string]any{"app": app}
		o["spec"] = map[string]any{"nodeName": node}
		return o
	}
	definition := thing("storage", "ns", nil)
	definition["spec"] = map[string]any{"config": `{"type":"macvlan","master":"eth1"}`}
	f := &collected{objects: map[string][]map[string]any{section{resource: definitions}.name(): {definition}, "openshift-multus/pods": {
		daemon("a", "multus", `{"missingInterfaces":["eth1"]}`), daemon("b", "multus", `{}`), daemon("c", "other", `{"missingPlugins":["macvlan"]}`), daemon("d", "multus", `[`),
	}}}
	var found []Finding
	for _, each := range evaluate(f, "openshift-network-operator", at) {
		if strings.HasPrefix(each.What, "NetworkAttachmentDefinitions") {
			found = append(found, each)
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0].What, "NetworkAttachmentDefinitions use interfaces that nodes do not have: 1; ") ||
		found[0].Cause != `openshift-flannel/storage: spec.config: the interface "eth1" is missing on node a` {
		t.Errorf("%+v", found)
	}
}

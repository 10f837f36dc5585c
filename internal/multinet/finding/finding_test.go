package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
)

func TestDefinitionsAreComparedWithWhatNodesReport(t *testing.T) {
	const macvlan = `{"type":"macvlan","master":"eth1","ipam":{"type":"static"}}`
	node := func(name string, plugins, interfaces []string) Node {
		return Node{name, Report{Plugins: plugins, Interfaces: interfaces}}
	}
	var many []Node
	for i := range 11 {
		many = append(many, node(fmt.Sprintf("n%02d", i), nil, []string{"eth1"}))
	}
	for _, tc := range []struct {
		why, config string
		nodes       []Node
		want        []string
	}{
		{"every node has what it needs", macvlan, []Node{node("a", []string{"other"}, []string{"eth2"})}, nil},
		{"no node has reported", macvlan, nil, nil},
		{"one node lacks the interface", macvlan, []Node{node("a", nil, nil), node("b", nil, []string{"eth1"})},
			[]string{`InterfaceMissing spec.config: the interface "eth1" is missing on node b`}},
		{"no node has the plugin, nor its address manager", macvlan, []Node{node("b", []string{"macvlan", "static"}, nil), node("a", []string{"macvlan", "static"}, nil)},
			[]string{`PluginMissing spec.config: the CNI plugin "macvlan" is missing on every node: a and b`, `PluginMissing spec.config: the CNI plugin "static" is missing on every node: a and b`}},
		{"many nodes: not all are named", macvlan, append([]Node{node("x", nil, nil)}, many...),
			[]string{`InterfaceMissing spec.config: the interface "eth1" is missing on 11 of 12 nodes: n00, n01, n02, n03, n04, n05, n06, n07 and 3 more`}},
		{"the master of an egress router", `{"type":"egress-router","interfaceType":"macvlan","interfaceArgs":{"mode":"bridge","master":"eth1"},"ip":{"addresses":["192.0.2.9/24"],"gateway":"192.0.2.1"}}`,
			[]Node{node("a", nil, []string{"eth1"})}, []string{`InterfaceMissing spec.config: the interface "eth1" is missing on every node: a`}},
		{"an interface inside the pod is not the node's", `{"type":"macvlan","master":"eth1","linkInContainer":true}`, []Node{node("a", nil, []string{"eth1"})}, nil},
		{"an invalid definition is that on all nodes, and its place is named", "{\n \"type\": \"multus-shim\"}", []Node{node("a", []string{"multus-shim"}, nil)},
			[]string{`InvalidNetworkAttachmentDefinition spec.config.type: Invalid value: "multus-shim": cannot be used in a definition; name the plugin that makes the interface, at 2:2`}},
		{"text that is no JSON", `{"type": }`, nil,
			[]string{`InvalidNetworkAttachmentDefinition spec.config: Forbidden: is not valid JSON: invalid character '}' looking for beginning of value, at 1:10, near "{\"type\": }"`}},
		{"the configuration is in files of nodes", " ", []Node{node("a", nil, nil)}, nil},
	} {
		var got []string
		for _, f := range ReadDefinition("ns", "a", tc.config).Findings(tc.nodes) {
			got = append(got, fmt.Sprintf("%s %s", f.Reason, f.Detail))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}

func TestADefinitionWithWhichTheCheckPanicsHasAnError(t *testing.T) {
	c := check(func() (*definition.Definition, field.ErrorList) { panic("boom") })
	got := c.Findings(nil)
	if len(got) != 1 || got[0].Reason != InvalidDefinition || !strings.Contains(got[0].Detail, "spec.config: Internal error: bug, please report it: panic: boom") {
		t.Errorf("%+v", got)
	}
	if c.Panic == nil || !strings.Contains(string(c.Panic.Stack), "finding_test.go") {
		t.Errorf("no stack for the log: %+v", c.Panic)
	}
}

func TestPoliciesAreRead(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": "a", "annotations": map[string]any{"k8s.v1.cni.cncf.io/policy-for": "a,B!"}},
		"spec":     map[string]any{"podSelector": map[string]any{}},
	}}
	if got := ReadPolicy(u, isolation.Rule{}); len(got) != 1 || got[0].Reason != InvalidPolicy || !strings.Contains(got[0].Detail, "[1]") {
		t.Errorf("%+v", got)
	}
	u.SetAnnotations(map[string]string{"k8s.v1.cni.cncf.io/policy-for": "a,other/b"})
	if got := ReadPolicy(u, isolation.Rule{Enabled: true}); len(got) != 1 || got[0].Reason != ForeignNetwork || !strings.Contains(got[0].Detail, "[1]") {
		t.Errorf("%+v", got)
	}
	if got := ReadPolicy(u, isolation.Rule{}); got != nil {
		t.Errorf("%+v", got)
	}
	u.SetAnnotations(nil)
	if got := ReadPolicy(u, isolation.Rule{}); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestEveryReasonHasItsEffectAndWayOut(t *testing.T) {
	if !slices.Equal(Reasons(), []Reason{ForeignNetwork, InterfaceMissing, InvalidPolicy, InvalidDefinition, PluginMissing}) {
		t.Error(Reasons())
	}
	for _, r := range Reasons() {
		if s := (Finding{r, "x"}).Message(); r.Effect() == "" || r.Remedy() == "" || !strings.HasPrefix(s, "x; "+r.Effect()) {
			t.Errorf("%s: %q", r, s)
		}
	}
}

func TestReportIsBoundedAndRoundTrips(t *testing.T) {
	var definitions []Checked
	for i := range 1000 {
		definitions = append(definitions, Checked{Plugins: []string{fmt.Sprint("p", i), "macvlan"}, Interface: fmt.Sprint("i", i)})
	}
	r := NewReport(definitions, func(p string) bool { return p == "macvlan" }, []string{"i0"})
	if len(r.Plugins) != maxNames || len(r.Interfaces) != maxNames || slices.Contains(r.Plugins, "macvlan") || slices.Contains(r.Interfaces, "i0") {
		t.Errorf("%d plugins, %d interfaces", len(r.Plugins), len(r.Interfaces))
	}
	r.Instances = map[string]int{Any: 3, "macvlan": 2}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, ok := Decode(text)
	if diff := cmp.Diff(r, again); !ok || diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"", "x", `{"missingPlugins":1}`, `{"missingPlugins":["` + strings.Repeat("x", maxReport) + `"]}`} {
		if _, ok := Decode(wrong); ok {
			t.Errorf("%.20q is read", wrong)
		}
	}
}

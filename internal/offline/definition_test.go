package offline

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// validated are the problems of a text, a line each.
func validated(t *testing.T, text string) string {
	t.Helper()
	p := pipeline.Pipeline{Registry: networks.Registry()}
	inputs, problems, err := stdin(text).Configurations([]string{"-"})
	if err != nil {
		return err.Error()
	}
	for _, in := range inputs {
		wrong, _, err := in.Validate(t.Context(), p, NoCluster(nil))
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, wrong...)
	}
	var out strings.Builder
	if err := Write(&out, problems); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheCRDIsCheckedWithoutAnAPIServer(t *testing.T) {
	flannel := func(config string) string {
		return strings.Replace(network, "{type: Flannel}", "{type: Flannel, flannelConfig: {"+config+"}}", 1)
	}
	for _, row := range []struct{ why, text, message string }{
		{"https without a certificate to present", flannel("etcd: {external: {endpoints: ['https://192.0.2.1:2379'], caConfigMap: ca}}"), "clientCertificateSecret: is required with https endpoints"},
		{"a collector's port", network + "  exportNetworkFlows: {netFlow: {collectors: ['192.0.2.1:99999']}}\n", "spec.exportNetworkFlows.netFlow.collectors[0]"},
		{"a type of more letters than the CRD takes", strings.Replace(network, "type: Flannel", "type: "+strings.Repeat("x", 65), 1), "spec.defaultNetwork.type"},
		{"an annotation that no object may have", strings.Replace(network, "{name: cluster}", "{name: cluster, annotations: {a: "+strings.Repeat("x", 300_000)+"}}", 1), "metadata.annotations"},
		{"an annotation that is no string", strings.Replace(network, "{name: cluster}", "{name: cluster, annotations: {a: true}}", 1), "metadata.annotations: must be a mapping of strings"},
		{"the short form", strings.Replace(short, "{type: Flannel}", "{type: Flannel, flannelConfig: {etcd: {external: {endpoints: ['https://192.0.2.1:2379'], caConfigMap: ca}}}}", 1), "clientCertificateSecret: is required"},
	} {
		if got := validated(t, row.text); !strings.Contains(got, row.message) {
			t.Errorf("%s: %.300s; want %q", row.why, got, row.message)
		}
	}
}

// A problem that the operator's rule and the CRD both find has one sentence, that of the rule.
func TestAProblemIsReportedOnce(t *testing.T) {
	for _, row := range []struct{ old, new, rule string }{
		{"cidr: 10.244.0.0/16", "cidr: 10.244.0/16", "cidr-syntax"},
		{"cidr: 10.244.0.0/16", "cidr: 10.244.0.5/16", "cidr-host-bits"},
		{"hostPrefix: 24", "hostPrefix: 31", "hostprefix-range"},
		{"hostPrefix: 24", "hostPrefix: 8", "hostprefix-range"},
		{"[10.96.0.0/16]", "[10.244.0.0/20]", "pool-overlap"},
		{"[10.96.0.0/16]", "[10.96.0.0/16, 10.97.0.0/16]", "service-network-families"},
		{"{type: Flannel}", "{type: Flannel, flannelConfig: {mtu: 10}}", ""},
		{"{type: Flannel}", "{type: Flannel, flannelConfig: {interface: a/b}}", ""},
		{"{type: Flannel}", "{type: Flannel, ovnKubernetesConfig: {}}", "foreign-settings"},
		{"{type: Flannel}", "{type: Flannel}\n  logLevel: Loud", "log-level"},
		{"{type: Flannel}", "{type: Flannel}\n  managementState: Gone", "management-state"},
		{"{name: cluster}", "{name: other}", "name"},
	} {
		got := validated(t, strings.Replace(network, row.old, row.new, 1))
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, "("+row.rule) || got == "valid\n" {
			t.Errorf("%s: %s", row.new, got)
		}
	}
}

func TestNoSentenceNeedsGoOrCEL(t *testing.T) {
	for _, row := range []struct{ why, old, new, message string }{
		{"a fraction", "hostPrefix: 24", "hostPrefix: 24.5", "spec.clusterNetwork[0].hostPrefix: a number with a fraction, or one that is too large, is not allowed here; write a whole number"},
		{"a negative number", "hostPrefix: 24", "hostPrefix: -1", "spec.clusterNetwork[0].hostPrefix"},
		{"a number that no field holds", "hostPrefix: 24", "hostPrefix: 4294967296", "spec.clusterNetwork[0].hostPrefix"},
		{"a huge number", "hostPrefix: 24", "hostPrefix: 99999999999999999999999", "hostPrefix"},
		{"a negative MTU", "{type: Flannel}", "{type: Flannel, flannelConfig: {mtu: -1500}}", "spec.defaultNetwork.flannelConfig.mtu"},
		{"a boolean for a number", "hostPrefix: 24", "hostPrefix: true", "spec.clusterNetwork[0].hostPrefix: must be a whole number without quotes"},
		{"a mapping for a number", "hostPrefix: 24", "hostPrefix: {a: 1}", "spec.clusterNetwork[0].hostPrefix: must be a whole number without quotes"},
		{"a name that is too long", "type: Flannel", "type: " + strings.Repeat("A", 64), "spec.defaultNetwork.type: may not be more than 63 bytes"},
		{"a list of a wrong family", "[10.96.0.0/16]", "['fd02::/112']", `spec.serviceNetwork: ["fd02::/112"] spec.clusterNetwork`},
		{"a network that is not built", "type: Flannel", "type: Kuryr", "is not implemented yet; use one of"},
		{"a tab", "  serviceNetwork", "\tserviceNetwork", "is indented with a tab, use spaces"},
		{"a key that is written twice", "{type: Flannel}", "{type: Flannel}\n  serviceNetwork: []", `line 8: key "serviceNetwork" already set in map`},
		{"a mapping for a list", "[10.96.0.0/16]", "{a: b}", "spec.serviceNetwork: a mapping is not allowed here; write a list"},
		{"a number for a word", "{type: Flannel}", "{type: Flannel}\n  logLevel: 4", "spec.logLevel: a number is not allowed here; write a string"},
		{"null in a list", "[10.96.0.0/16]", "[null]", "spec.serviceNetwork[0]"},
		{"a word of a few letters", "{type: Flannel}", "{type: Flannel}\n  foo: 1", "spec.foo: there is no such field; known fields are"},
		{"a form that a regular expression describes", "{type: Flannel}", "{type: Flannel}\n  managementState: Gone", "use Managed or Unmanaged"},
		{"a scalar", network, "hello", "not a Kubernetes object, which is a mapping"},
		{"a list", network, "- 1", "not a Kubernetes object, which is a mapping"},
		{"a version that is a number", "operator.openshift.io/v1", "1", `apiVersion "1", kind "Network" is not a configuration`},
	} {
		got := validated(t, strings.Replace(network, row.old, row.new, 1))
		for _, garbage := range []string{"unmarshal", "Go ", "failed rule", "self", "^(", "did you mean from", "a object", "a array", "in body", "of type", "value omitted", `\"`} {
			if strings.Contains(got, garbage) {
				t.Errorf("%s: %q is in %s", row.why, garbage, got)
			}
		}
		if !strings.Contains(got, row.message) {
			t.Errorf("%s: %s; want %q", row.why, got, row.message)
		}
	}
	got := validated(t, strings.Replace(short, "hostSubnetLength: 8", "hostSubnetLength: 8, hostPrefix: 24", 1))
	if !strings.Contains(got, "spec.clusterNetworks[0].hostPrefix: there is no such field; known fields are cidr, hostSubnetLength") {
		t.Errorf("a field of the other kind: %s", got)
	}
}

func TestTwoObjectsOfOneNameAreReportedWithBothPositions(t *testing.T) {
	got := validated(t, network+"---\n"+network)
	if want := "-: Network/cluster is defined twice, in -, document 1 and in -, document 2; a cluster has one, so remove one of them (duplicate-object)\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAValueIsPrintedOnce(t *testing.T) {
	if got := validated(t, strings.Replace(network, "10.96.0.0/16", `"10.96.0.0\u00a0/16"`, 1)); strings.Count(got, "10.96.0.0") > 2 {
		t.Errorf("%s", got)
	}
}

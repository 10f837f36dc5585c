package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

// configuration is a Network whose parts the mistakes replace.
type configuration struct {
	annotations, pool, services, prefix, network, more string
}

func (c configuration) yaml() string {
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	return fmt.Sprintf(`apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster, annotations: {%s}}
spec:
  clusterNetwork: [{cidr: "%s", hostPrefix: %s}]
  serviceNetwork: [%s]
  defaultNetwork: %s
%s`, c.annotations, or(c.pool, "10.244.0.0/16"), or(c.prefix, "24"), or(c.services, "10.96.0.0/16"), or(c.network, "{type: Flannel}"), c.more)
}

func flannel(config string) configuration {
	return configuration{network: "{type: Flannel, flannelConfig: {" + config + "}}"}
}

func managed(config string) configuration { return flannel("etcd: {managed: {" + config + "}}") }

func external(endpoints string) configuration {
	return flannel("etcd: {external: {endpoints: [" + endpoints + "]}}")
}

func annotated(suffix, value string) configuration {
	return configuration{annotations: "networkoperator.openshift.io/" + suffix + ": '" + value + "'"}
}

func proxy(arguments string) configuration {
	return configuration{more: "  kubeProxyConfig: {proxyArguments: {" + arguments + "}}\n"}
}

// What people write by mistake is refused, or warned of, without a cluster, with the field and the way out.
func TestErrorsAreFoundWithoutACluster(t *testing.T) {
	two := configuration{}.yaml() + "---\n" + configuration{pool: "10.245.0.0/16"}.yaml()
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf("'http://192.0.2.%d:2379'", i+1))
	}
	for _, row := range []struct {
		why, text string
		status    int
		message   []string
	}{
		{"a directory of another etcd", managed("dataDir: /var/lib/etcd").yaml(), exit.Refused, []string{"etcd.managed.dataDir", "shares /var/lib/etcd with other programs", "e.g. /var/lib/cno/flannel-etcd"}},
		{"a directory of Kubernetes", managed("dataDir: /etc/kubernetes").yaml(), exit.Refused, []string{"etcd.managed.dataDir", "shares /etc with other programs"}},
		{"the prefix of the API server", flannel("etcd: {prefix: /registry}").yaml(), exit.Refused, []string{"etcd.prefix", "is where the API server keeps its objects", "e.g. /coreos.com/network"}},
		{"a prefix outside of ASCII", flannel("etcd: {prefix: /netz/ü}").yaml(), exit.Refused, []string{"etcd.prefix", "must consist of ASCII letters"}},
		{"the port of SSH", managed("clientPort: 22").yaml(), exit.Refused, []string{"managed.clientPort: 22 is the port of the SSH server", "choose another"}},
		{"a port of the operator", managed("clientPort: 9104").yaml(), exit.Refused, []string{"managed.clientPort: 9104 is the port of this operator", "choose another"}},
		{"a host that DNS does not allow", external("'http://etcd_1:2379'").yaml(), exit.Refused, []string{"external.endpoints[0]", `"http://etcd_1:2379" has a host that is neither`, "write it like"}},
		{"the loopback interface", flannel("interface: lo").yaml(), exit.Refused, []string{"flannelConfig.interface", "is the loopback interface", "leave it out"}},
		{"a pattern of interfaces", flannel("interface: 'eth.*'").yaml(), exit.Refused, []string{"flannelConfig.interface", "patterns are not supported"}},
		{"an option in place of an interface", flannel("interface: '-x'").yaml(), exit.Refused, []string{"flannelConfig.interface", "not beginning with a dot, a dash or an at sign"}},
		{"an emoji in place of an interface", flannel("interface: '😀'").yaml(), exit.Refused, []string{"flannelConfig.interface", "is not the name of an interface"}},
		{"a space that does not break", flannel("interface: \"eth\\u00a00\"").yaml(), exit.Refused, []string{"flannelConfig.interface", `"eth\u00a00"`}},
		{"reserved addresses", configuration{services: "255.255.0.0/16"}.yaml(), exit.Refused, []string{"spec.serviceNetwork[0]", "lies in the reserved addresses", "choose a private network"}},
		{"Services with one address", configuration{services: "10.96.0.0/32"}.yaml(), exit.Refused, []string{"spec.serviceNetwork[0]", "at least 8 addresses", "use a /29"}},
		{"public addresses", configuration{services: "11.0.0.0/8"}.yaml(), exit.OK, []string{"warning: -: spec.serviceNetwork[0]: 11.0.0.0/8 are public addresses", "unless they are yours"}},
		{"a cluster-cidr outside of the pools", proxy("cluster-cidr: [10.9.0.0/16]").yaml(), exit.Refused, []string{"proxyArguments[cluster-cidr]", "does not contain 10.244.0.0/16", "or remove the argument"}},
		{"two Networks", two, exit.Refused, []string{"Network/cluster is defined twice", "document 1", "document 2", "remove one"}},
		{"an acknowledgement of nothing", annotated("acknowledge", "nonsense").yaml(), exit.OK, []string{"warning: -: metadata.annotations", "acknowledges nothing", "the hash that cno plan prints"}},
		{"a pause in other words", annotated("paused", "yes").yaml(), exit.OK, []string{"warning: -: metadata.annotations", `only "true" pauses the operator`, "run cno pause"}},
		{"an unsafe change in other words", annotated("allow-unsafe", "1").yaml(), exit.OK, []string{"warning: -: metadata.annotations", `only "true" permits an unsafe change`}},
		// Only the cluster and its nodes can decide whether these are errors: ServiceCIDR, interfaces, and what their kernels have.
		{"the Service network of another cluster", configuration{services: "10.200.0.0/16"}.yaml(), exit.OK, []string{"valid"}},
		{"an interface that no node has", flannel("interface: nosuch9").yaml(), exit.OK, []string{"valid"}},
		{"ipvs, which few kernels lack", proxy("proxy-mode: [ipvs]").yaml(), exit.OK, []string{"valid"}},
		// What the API server's schema refuses.
		{"a type of 64 letters", configuration{network: "{type: " + strings.Repeat("A", 64) + "}"}.yaml(), exit.Refused, []string{"spec.defaultNetwork.type", "more than 63 bytes"}},
		{"ten endpoints", external(strings.Join(ten, ", ")).yaml(), exit.Refused, []string{"external.endpoints", "at most 9 items"}},
		{"a collector's port", configuration{more: "  exportNetworkFlows: {netFlow: {collectors: ['192.0.2.1:99999']}}\n"}.yaml(), exit.Refused, []string{"netFlow.collectors[0]", "192.0.2.1:99999"}},
		{"a large annotation", configuration{annotations: "a: " + strings.Repeat("x", 300_000)}.yaml(), exit.Refused, []string{"metadata.annotations", "262144 bytes"}},
		{"https without a CA", external("'https://192.0.2.1:2379'").yaml(), exit.Refused, []string{"external.caConfigMap", "is required with https endpoints", "name the ConfigMap"}},
		// Errors that used to be those of Go or of a regular expression, or had a wrong hint.
		{"a fraction", configuration{prefix: "24.5"}.yaml(), exit.Refused, []string{"spec.clusterNetwork[0].hostPrefix", "write a whole number"}},
		{"a number of more than 32 bits", configuration{prefix: "4294967296"}.yaml(), exit.Refused, []string{"spec.clusterNetwork[0].hostPrefix", "a number of 32 bits"}},
		{"a negative number", configuration{prefix: "-1"}.yaml(), exit.Refused, []string{"spec.clusterNetwork[0].hostPrefix", "-1"}},
		{"a negative MTU", flannel("mtu: -1500").yaml(), exit.Refused, []string{"flannelConfig.mtu: -1500 is out of range; it must be 576 to 65535"}},
		{"a number for a word", configuration{more: "  logLevel: 4\n"}.yaml(), exit.Refused, []string{"spec.logLevel: a number is not allowed here; write a string"}},
		{"blocks without addresses", configuration{prefix: "31"}.yaml(), exit.Refused, []string{"31 leaves no usable pod address per node; use 30 or less"}},
		{"blocks larger than the pool", configuration{prefix: "8"}.yaml(), exit.Refused, []string{"8 must be between 16 and 30 for a /16"}},
		{"a management state that is not allowed", configuration{more: "  managementState: Removed\n"}.yaml(), exit.Refused, []string{"spec.managementState", "use Managed, or Unmanaged"}},
		{"a space without a width", configuration{pool: `10.244.0.0\u200b/16`}.yaml(), exit.Refused, []string{`spec.clusterNetwork[0].cidr: "10.244.0.0\u200b/16" is not a CIDR; write four octets`}},
		{"a type that is nearly one", configuration{network: "{type: Flanel}"}.yaml(), exit.Refused, []string{"did you mean Flannel?"}},
		{"a field that does not exist", configuration{more: "  foo: 1\n"}.yaml(), exit.Refused, []string{"spec.foo: there is no such field; known fields are"}},
		{"a text", "hello\n", exit.Unusable, []string{"not a Kubernetes object, which is a mapping with apiVersion"}},
		{"a list", "- a\n", exit.Unusable, []string{"not a Kubernetes object, which is a mapping with apiVersion"}},
	} {
		status, out, stderr := validate1(row.text, "-f", "-")
		if status != row.status {
			t.Errorf("%s: status %d, want %d: %.500s%s", row.why, status, row.status, out, stderr)
			continue
		}
		for _, want := range row.message {
			if !strings.Contains(out+stderr, want) {
				t.Errorf("%s: got %.500s%s, want %q", row.why, out, stderr, want)
			}
		}
		for _, never := range []string{"json:", "unmarshal", "Go struct", "Go value", "panic"} {
			if strings.Contains(out+stderr, never) {
				t.Errorf("%s: %q is in %.500s%s", row.why, never, out, stderr)
			}
		}
	}
}

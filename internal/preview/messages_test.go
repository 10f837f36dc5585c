package preview_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

const page = "../../docs/messages.md"

// inUse is the network of the cluster that the mistakes are made in.
const inUse = `apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 24}]
  serviceNetwork: [10.96.0.0/16]
  defaultNetwork: {type: Flannel}
`

// mistake is an edit of spec, and what the message must have: the field, the value, the error, and the way out.
type mistake struct {
	what, edit string
	// later is true for what the API server cannot decide: then the plan and the status report it.
	later    bool
	reported []string
}

// mistakesWith returns the mistakes that are made with a network, beyond those that all have in common.
func mistakesWith(network operatorv1.NetworkType) []mistake {
	if network == operatorv1.NetworkTypeFlannel {
		return mistakes()
	}
	return []mistake{
		{"another mode of OpenShift SDN while it is in use", "defaultNetwork: {openshiftSDNConfig: {mode: Multitenant}}", false, []string{"openshiftSDNConfig.mode", `"NetworkPolicy" -> "Multitenant"`, "cannot change openshift-sdn mode"}},
		{"another port of OpenShift SDN while it is in use", "defaultNetwork: {openshiftSDNConfig: {vxlanPort: 4790}}", false, []string{"openshiftSDNConfig.vxlanPort", `"4789" -> "4790"`, "cannot change openshift-sdn vxlanPort"}},
		{"another MTU of OpenShift SDN while it is in use", "defaultNetwork: {openshiftSDNConfig: {mtu: 1400}}", false, []string{"openshiftSDNConfig.mtu", `"1450" -> "1400"`, "cannot change openshift-sdn mtu without migration"}},
		{"a mode that OpenShift SDN does not have", "defaultNetwork: {openshiftSDNConfig: {mode: Policy}}", false, []string{"openshiftSDNConfig.mode", "Policy", "NetworkPolicy"}},
		{"a proxy mode that OpenShift SDN does not run", "kubeProxyConfig: {proxyArguments: {proxy-mode: [ipvs]}}", true, []string{"proxy-mode", "ipvs", "nftables"}},
	}
}

func mistakes() []mistake {
	raw := func(config string) string {
		return "additionalNetworks: [{name: a, type: Raw, rawCNIConfig: '" + config + "'}]"
	}
	return []mistake{
		{"a CIDR with three octets", "clusterNetwork: [{cidr: 10.128.0/9, hostPrefix: 24}]", false, []string{"spec.clusterNetwork[0].cidr", "10.128.0/9", "write four octets and a prefix, e.g. 10.128.0.0/9"}},
		{"a CIDR with host bits", "clusterNetwork: [{cidr: 10.128.0.5/14, hostPrefix: 24}]", false, []string{"spec.clusterNetwork[0].cidr", "has host bits set; did you mean 10.128.0.0/14?"}},
		{"Services in the range of pods", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 24}]\nserviceNetwork: [10.128.0.0/16]", false, []string{"spec.serviceNetwork[0] 10.128.0.0/16 lies inside spec.clusterNetwork[0] 10.128.0.0/14", "choose non-overlapping ranges"}},
		{"two pools that overlap", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 24}, {cidr: 10.130.0.0/16, hostPrefix: 24}]", false, []string{"spec.clusterNetwork[1] 10.130.0.0/16 lies inside spec.clusterNetwork[0] 10.128.0.0/14"}},
		{"a block that is larger than the pool", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 8}]", false, []string{"hostPrefix", "8 must be between 14 and 30 for a /14"}},
		{"a block without usable addresses", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 31}]", false, []string{"31 leaves no usable pod address per node; use 30 or less (23 gives 510)"}},
		{"Services of a family that pods do not have", "serviceNetwork: [10.96.0.0/16, 'fd02::/112']", false, []string{"spec.clusterNetwork is IPv4, spec.serviceNetwork is IPv4 and IPv6", "Add or remove a range"}},
		{"two Service CIDRs of one family", "serviceNetwork: [10.96.0.0/16, 10.97.0.0/16]", false, []string{"spec.serviceNetwork[1] 10.97.0.0/16 is a second IPv4 network", "Remove it"}},
		{"another Service CIDR while the network is in use", "serviceNetwork: [10.97.0.0/16]", false, []string{"spec.serviceNetwork", `"10.96.0.0/16" -> "10.97.0.0/16"`, "services would keep their old addresses; put the old value back"}},
		{"other blocks while the network is in use", "clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 25}]", false, []string{"hostPrefix", `"24" -> "25"`, "nodes hold blocks of the old length; put the old value back"}},
		{"another type while the network is in use", "defaultNetwork: {type: OVNKubernetes}", false, []string{"spec.defaultNetwork.type", `"Flannel" -> "OVNKubernetes"`, "pods would lose their network; put the old value back"}},
		{"another MTU while the network is in use", "defaultNetwork: {flannelConfig: {mtu: 1400}}", false, []string{"mtu", `"1500" -> "1400"`, "cno plan prints the hash"}},
		{"an MTU that the nodes' links do not carry", "defaultNetwork: {flannelConfig: {mtu: 8900}}", true, []string{"spec.defaultNetwork.flannelConfig.mtu", "1500 -> 8900", "needs links of at least 8900 (host-gw adds 0), and a node has one of 1500; use 1500 or less"}},
		{"an interface that no node has", "defaultNetwork: {flannelConfig: {interface: nosuch9}}", true, []string{"spec.defaultNetwork.flannelConfig.interface", `-> "nosuch9"`, "does not exist on any node", "nodes have eth0 and eth1", "delete the ConfigMap mtu"}},
		{"an MTU out of range", "defaultNetwork: {flannelConfig: {mtu: 70000}}", false, []string{"mtu", "70000 is out of range; it must be 576 to 65535 (IPv6 needs at least 1280)"}},
		{"an MTU that is too small", "defaultNetwork: {flannelConfig: {mtu: 10}}", false, []string{"mtu", "10 is out of range"}},
		{"a port out of range", "defaultNetwork: {flannelConfig: {backend: vxlan, vxlan: {port: 99999}}}", false, []string{"vxlan.port", "99999 is out of range; it must be 1 to 65535"}},
		{"the same port twice", "defaultNetwork: {flannelConfig: {etcd: {managed: {clientPort: 12380, peerPort: 12380}}}}", false, []string{"12380 is the client port too; choose two different ports"}},
		{"a duration without a unit", "kubeProxyConfig: {iptablesSyncPeriod: '30'}", false, []string{"iptablesSyncPeriod", `"30" has no unit; write 30s`}},
		{"settings of a network of another type", "defaultNetwork: {ovnKubernetesConfig: {mtu: 1400}}", false, []string{"is set but type is Flannel; remove it, or set the type to OVNKubernetes"}},
		{"one additional network twice", "additionalNetworks: [{name: a, type: Raw, rawCNIConfig: '{}'}, {name: a, type: Raw, rawCNIConfig: '{}'}]", false, []string{"spec.additionalNetworks[1]", "Duplicate value", `"a"`}},
		{"agents that are kept off nodes", "workloads: [{name: flanneld, nodeSelector: {role: infra}}]", false, []string{"spec.workloads[0].nodeSelector", "must not be set for flanneld: the operator decides which nodes it runs on; remove it"}},
		{"a share of nodes that is zero", "workloads: [{name: kube-proxy, updateStrategy: {maxUnavailable: 0%}}]", false, []string{"spec.workloads[0].updateStrategy.maxUnavailable", `"0%" is not a number of nodes; use 1 or more, or 1% to 100%`}},
		{"an unknown log level", "logLevel: Loud", false, []string{"spec.logLevel", `"Loud"`, `"Normal", "Debug", "Trace", "TraceAll"`}},
		{"a typo in the type", "defaultNetwork: {type: OVNKubernets}", true, []string{"spec.defaultNetwork.type", `"OVNKubernets" is not known; did you mean OVNKubernetes?`}},
		{"a typo in a field name", "clusterNetworks: []", true, []string{"spec.clusterNetworks", "there is no such field; did you mean clusterNetwork?"}},
		{"a flag that kube-proxy does not have", "kubeProxyConfig: {proxyArguments: {iptables-minsync: ['1s']}}", true, []string{"proxyArguments[iptables-minsync]", "unknown kube-proxy 1.36 flag; did you mean iptables-min-sync-period?"}},
		{"additional networks that are not JSON", raw(`{"cniVersion": "0.3.1", "type": }`), true, []string{"rawCNIConfig", "is not valid JSON", "at 1:33, near"}},
		{"a gateway outside its subnet", "additionalNetworks: [{name: a, type: SimpleMacvlan, simpleMacvlanConfig: {master: eth0, mode: Bridge, ipamConfig: {type: Static, staticIPAMConfig: {addresses: [{address: 10.1.0.4/24, gateway: 10.2.0.1}]}}}}]", true, []string{"addresses[0].gateway", "gateway 10.2.0.1 is not inside 10.1.0.0/24"}},
		{"a mode that macvlan does not have", "additionalNetworks: [{name: a, type: SimpleMacvlan, simpleMacvlanConfig: {mode: Brigde}}]", true, []string{"simpleMacvlanConfig.mode", "invalid Macvlan mode: Brigde; use Bridge, Private, VEPA or Passthru"}},
	}
}

// TestEveryErrorIsReportedWithTheWayOut makes each mistake with kubectl's request and with the plan. docs/messages.md shows what
// the user reads.
func TestEveryErrorIsReportedWithTheWayOut(t *testing.T) {
	var shown strings.Builder
	for _, network := range []operatorv1.NetworkType{operatorv1.NetworkTypeFlannel, operatorv1.NetworkTypeOpenShiftSDN} {
		t.Run(string(network), func(t *testing.T) {
			c := newUser(t, network)
			for _, m := range mistakesWith(network) {
				c.make(m, &shown)
			}
		})
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(content), "\n## ")
	want := strings.TrimRight(head, "\n") + "\n" + shown.String()
	if *golden.Update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s does not have the messages that users get (-update writes it again):\n%s", page, diff)
	}
}

// make makes a mistake, and appends what the user reads to the page.
func (u user) make(m mistake, shown io.Writer) {
	u.t.Helper()
	refusal, planned := u.edit(m.edit), u.plan(m.edit)
	message := planned
	if !m.later {
		if refusal == nil {
			u.t.Errorf("%s: the API server takes it", m.what)
			return
		}
		message = refusal.Error()
	}
	for _, want := range m.reported {
		if !strings.Contains(message, want) {
			u.t.Errorf("%s: the message does not contain %q:\n%s", m.what, want, message)
		}
	}
	for _, garbage := range []string{"%!", "0x", "goroutine", "no value>", "{{"} {
		if strings.Contains(message+planned, garbage) {
			u.t.Errorf("%s: the message has %q:\n%s\n%s", m.what, garbage, message, planned)
		}
	}
	if planned == "" {
		u.t.Errorf("%s: the plan reports nothing", m.what)
	}
	where := "`kubectl apply`"
	if m.later {
		where = "`cno plan`, and the status"
	}
	_, _ = fmt.Fprintf(shown, "\n## %s%s\n\n```text\n%s\n```\n\n%s:\n\n```text\n%s\n```\n", strings.ToUpper(m.what[:1]), m.what[1:], m.edit, where, message) // in memory
}

// user edits the network of a cluster with admission policies.
type user struct {
	*apitest.Server
	t        *testing.T
	pipeline pipeline.Pipeline
	// text is the network in use as YAML.
	text    string
	network *operatorv1.Network
	state   preview.State
}

func newUser(t *testing.T, network operatorv1.NetworkType) user {
	t.Helper()
	u := user{Server: apitest.Shared(t), t: t, pipeline: pipeline.Pipeline{Registry: networks.Registry()}, network: &operatorv1.Network{}}
	u.text = strings.Replace(inUse, "type: Flannel", "type: "+string(network), 1)
	if err := yaml.Unmarshal([]byte(u.text), u.network); err != nil {
		t.Fatal(err)
	}
	known := facts.Cluster{Platform: "None", HostMTU: 1500, Interfaces: []string{"eth0", "eth1"}, ReleaseVersion: "v1", Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "192.0.2.1", Port: 6443}}
	res, err := u.pipeline.Run(t.Context(), pipeline.Input{Desired: &u.network.Spec, Cluster: known}, pipeline.Fill)
	if err != nil {
		t.Fatal(err)
	}
	if u.state, err = preview.Offline(t.Context(), u.pipeline, pipeline.Input{Applied: res.Spec, Cluster: known}); err != nil {
		t.Fatal(err)
	}
	fields := u.pipeline.Registry.Fields("")
	policies, bindings := admission.Policies(fields, u.pipeline.Registry.Operands())
	for i := range policies {
		u.Create(t, &policies[i])
		u.Create(t, &bindings[i])
	}
	u.Create(t, u.network)
	g, err := admission.Object(u.pipeline.Registry, admission.Applied{Spec: res.Spec, Traits: res.Traits, Cluster: known})
	if err != nil {
		t.Fatal(err)
	}
	u.Create(t, g.Object)
	eventually.Is(t, "the policies are in effect", func() bool { return u.edit("serviceNetwork: [10.97.0.0/16]") != nil })
	// The cleanup acknowledges the deletion, as a user would have to.
	t.Cleanup(func() {
		patch := []byte(`{"metadata":{"annotations":{"` + admission.AllowDeletion + `":"true"}}}`)
		if err := u.Client.Patch(context.Background(), u.network.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Error(err)
		}
	})
	return u
}

// edit is the response of the API server to an edit.
func (u user) edit(edit string) error {
	u.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": u.parse(edit)})
	if err != nil {
		u.t.Fatal(err)
	}
	err = u.Client.Patch(u.t.Context(), u.network.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		u.t.Fatal(err)
	}
	return err
}

// plan has the errors that the plan reports.
func (u user) plan(edit string) string {
	u.t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(u.text), &object); err != nil {
		u.t.Fatal(err)
	}
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		u.t.Fatal(object)
	}
	merge(spec, u.parse(edit))
	whole, err := yaml.Marshal(object)
	if err != nil {
		u.t.Fatal(err)
	}
	in, problems, err := offline.Files{Stdin: bytes.NewReader(whole)}.Configuration([]string{"-"})
	if err != nil {
		u.t.Fatal(err)
	}
	answer := preview.Malformed(problems)
	if len(problems) == 0 {
		if answer, err = preview.Run(u.t.Context(), u.pipeline, in, u.state); err != nil {
			u.t.Fatal(err)
		}
	}
	var reported []string
	for _, p := range answer.Errors {
		reported = append(reported, p.Field+": "+p.Message)
	}
	return strings.Join(reported, "\n")
}

func (u user) parse(edit string) map[string]any {
	u.t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(edit), &fields); err != nil {
		u.t.Fatal(err)
	}
	return fields
}

// merge puts the values of an edit in place of those of an object.
func merge(object, edit map[string]any) {
	for key, value := range edit {
		inner, isMap := value.(map[string]any)
		existing, wasMap := object[key].(map[string]any)
		if isMap && wasMap {
			merge(existing, inner)
			continue
		}
		object[key] = value
	}
}

package admission

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/networks/randomedittest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// base is a network in use that fields are changed in.
type base struct {
	network *operatorv1.Network
	// mtu is what pods have.
	mtu uint32
}

func bases() map[string]base {
	return map[string]base{
		"plain": {inUse(), 1500},
		"vxlan": {inUse(func(s *operatorv1.NetworkSpec) {
			randomedittest.Flannel(s).Backend, randomedittest.Flannel(s).VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: new(uint32(1)), Port: new(uint32(8472))}
		}), 1450},
		"external": {inUse(func(s *operatorv1.NetworkSpec) {
			randomedittest.Etcd(s).External = &operatorv1.FlannelExternalEtcd{
				Endpoints: []string{"https://192.0.2.1:2379"}, CAConfigMap: "trusted", ClientCertificateSecret: "certificate"}
		}), 1500},
	}
}

// sample is another valid value of a field.
type sample struct {
	path, base, value string
	// rule is the rule that refuses it and that no table can express; empty if the table has it.
	rule string
}

const flannelConfig = "spec.defaultNetwork.flannelConfig"

var samples = []sample{
	{"spec.managementState", "plain", "Unmanaged", ""},
	{"spec.logLevel", "plain", "Debug", ""},
	{"spec.operatorLogLevel", "plain", "Debug", ""},
	{"spec.unsupportedConfigOverrides", "plain", "{a: 1}", ""},
	{"spec.observedConfig", "plain", "{a: 1}", ""},
	{"spec.clusterNetwork", "plain", "[{cidr: 10.200.0.0/16, hostPrefix: 24}]", pipeline.RuleClusterChange},
	{"spec.serviceNetwork", "plain", "[172.30.0.0/16]", pipeline.RuleServiceChange},
	{"spec.defaultNetwork.type", "plain", "Calico", ""},
	{flannelConfig + ".backend", "plain", "vxlan", ""},
	{flannelConfig + ".mtu", "plain", "1300", ""},
	{flannelConfig + ".vxlan.vni", "vxlan", "7", ""},
	{flannelConfig + ".vxlan.port", "vxlan", "4789", ""},
	{flannelConfig + ".interface", "plain", "eth1", ""},
	{flannelConfig + ".etcd", "plain", "{external: {endpoints: ['http://192.0.2.1:2379']}}", ""},
	{flannelConfig + ".etcd.prefix", "plain", "/other", ""},
	{flannelConfig + ".etcd.external.endpoints", "external", "['https://192.0.2.1:2379', 'https://192.0.2.2:2379']", ""},
	{flannelConfig + ".etcd.external.caConfigMap", "external", "ca", ""},
	{flannelConfig + ".etcd.external.clientCertificateSecret", "external", "client", ""},
	{flannelConfig + ".etcd.managed.clientPort", "plain", "22379", ""},
	{flannelConfig + ".etcd.managed.peerPort", "plain", "22380", ""},
	{flannelConfig + ".etcd.managed.dataDir", "plain", "/var/lib/other", ""},
	{"spec.additionalNetworks", "plain", `[{name: a, type: Raw, rawCNIConfig: '{"cniVersion": "0.3.1", "name": "a", "type": "bridge"}'}]`, ""},
	{"spec.disableMultiNetwork", "plain", "true", ""},
	{"spec.useMultiNetworkPolicy", "plain", "true", ""},
	{"spec.multiNetwork.namespaceIsolation", "plain", "false", ""},
	{"spec.multiNetwork.globalNamespaces", "plain", "[default, shared]", ""},
	{"spec.multiNetwork.attachments", "plain", "Restricted", ""},
	{"spec.multiNetwork.restricted.masters", "plain", "[eth1]", ""},
	{"spec.deployKubeProxy", "plain", "false", pipeline.RuleUnserved},
	{"spec.disableNetworkDiagnostics", "plain", "true", ""},
	{"spec.kubeProxyConfig.iptablesSyncPeriod", "plain", "20s", ""},
	{"spec.kubeProxyConfig.bindAddress", "plain", "127.0.0.1", ""},
	{"spec.kubeProxyConfig.proxyArguments", "plain", "{config-sync-period: ['10m']}", ""},
	{"spec.kubeProxyConfig.proxyArguments.proxy-mode", "plain", "[iptables]", ""},
	{"spec.exportNetworkFlows.netFlow.collectors", "plain", "['192.0.2.1:2055']", ""},
	{"spec.exportNetworkFlows.sFlow.collectors", "plain", "['192.0.2.1:2055']", ""},
	{"spec.exportNetworkFlows.ipfix.collectors", "plain", "['192.0.2.1:2055']", ""},
	{"spec.rollout.autoRollback", "plain", "true", ""},
	{"spec.rollout.progressDeadlineSeconds", "plain", "60", ""},
	{"spec.workloads", "plain", "[{name: flanneld, priorityClassName: system-node-critical}]", ""},
	{"spec.additionalRoutingCapabilities.providers", "plain", "[FRR]", ""},
}

// with sets the field.
func (s sample) with(t *testing.T) func(*operatorv1.NetworkSpec) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(s.value), &value); err != nil {
		t.Fatal(err)
	}
	return func(spec *operatorv1.NetworkSpec) {
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		at, names := all, strings.Split(s.path, ".")[1:]
		for _, name := range names[:len(names)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}
		at[names[len(names)-1]] = value
		if raw, err = json.Marshal(all); err != nil {
			t.Fatal(err)
		}
		*spec = operatorv1.NetworkSpec{}
		if err := json.Unmarshal(raw, spec); err != nil {
			t.Fatal(err)
		}
	}
}

// walked returns the fields to walk: all leaves of the specification, and all entries of the table for a key of a map, or
// for a choice. Without those of networks that are not in use, and the announcement of a migration, which has tests of its
// own.
func walked(fields []provider.Field) []string {
	var all []string
	for _, l := range provider.LeavesBelow("spec") {
		all = append(all, l.Path)
	}
	for _, f := range fields {
		if below := provider.LeavesBelow(f.Path); len(f.Choice) > 0 || len(below) == 1 && below[0].Path == f.Path {
			all = append(all, f.Path)
		}
	}
	all = slices.DeleteFunc(all, func(path string) bool {
		return provider.FieldOf(fields, path).Path == "spec.defaultNetwork" || provider.Within(path, "spec.migration")
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryFieldIsCheckedByItsEntry changes each field of a network in use, and during a change of its MTU. The table of
// fields decides what becomes of it; the API server, the operator and the plan have to agree.
func TestEveryFieldIsCheckedByItsEntry(t *testing.T) {
	fields := networks.Registry().Fields(operatorv1.NetworkTypeFlannel)
	paths := walked(fields)
	if len(paths) < 35 {
		t.Fatalf("only %d fields are walked", len(paths))
	}
	for _, path := range paths {
		if !slices.ContainsFunc(samples, func(s sample) bool { return s.path == path }) {
			t.Errorf("%s: add a sample of another value", path)
		}
	}
	for name, b := range bases() {
		of := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return s.base != name })
		t.Run(name, func(t *testing.T) {
			d := newServer(t, b.network.DeepCopy())
			for _, s := range of {
				d.checkField(t, s, provider.FieldOf(fields, s.path))
			}
		})
		t.Run(name+" during a migration", func(t *testing.T) {
			n := b.network.DeepCopy()
			announce(b.mtu, 1400)(&n.Spec)
			d := newServer(t, n, facts.MTUMigration{Active: true, Step: 1, MTU: int(b.mtu), RoutableMTU: 1400})
			for _, s := range of {
				d.cannotChange(t, s, provider.FieldOf(fields, s.path))
			}
		})
	}
}

// checkField changes a field of a network in use.
func (d *server) checkField(t *testing.T, s sample, f provider.Field) {
	t.Helper()
	rule := s.rule
	if rule == "" {
		rule = f.Fixed
	}
	refusal := d.edit(s.with(t))
	res, checked := d.check(s.with(t))
	if checked != nil && pipeline.StageOf(checked) != pipeline.Check {
		t.Errorf("%s: the sample is invalid: %v", s.path, checked)
		return
	}
	if (refusal != nil) != (rule != "") || refusal != nil && !strings.Contains(refusal.Error(), "("+rule+")") {
		t.Errorf("%s: the API server returns %v, the table has rule %q", s.path, refusal, rule)
	}
	if (checked != nil) != (rule != "") || rule != "" && !pipeline.RefusalsOf(checked).Has(rule) {
		t.Errorf("%s: the operator returns %v, the table has rule %q", s.path, checked, rule)
	}
	if rule == "" {
		return
	}
	for _, sentence := range []string{refusal.Error(), checked.Error()} {
		if s.rule == "" && f.Fixed != pipeline.RuleTypeChange && len(f.Choice) == 0 && !strings.Contains(sentence, f.Refusal()) {
			t.Errorf("%s: the message is not that of the table:\n%s\nwant %s", s.path, sentence, f.Refusal())
		}
	}
	if (res.Acknowledgement != "") != f.Acknowledge {
		t.Errorf("%s: the hash is %q, the table has acknowledgement %v", s.path, res.Acknowledgement, f.Acknowledge)
	}
	if !f.Acknowledge {
		return
	}
	if err := d.edit(s.with(t), res.Acknowledgement); err != nil {
		t.Errorf("%s: acknowledged: %v", s.path, err)
	}
	for _, c := range res.Changes {
		if entry := provider.FieldOf(d.pipeline.Registry.Fields(operatorv1.NetworkTypeFlannel), c.Field); c.Decision != pipeline.Safe && (c.Class != entry.Class || c.Disruption != entry.Disruption) {
			t.Errorf("%s: the plan has class %s and disruption %s, the table %s and %s", c.Field, c.Class, c.Disruption, entry.Class, entry.Disruption)
		}
	}
}

// cannotChange changes a field during a change of the MTU: only those may change that are live.
func (d *server) cannotChange(t *testing.T, s sample, f provider.Field) {
	t.Helper()
	refusal := d.edit(s.with(t))
	_, checked := d.check(s.with(t))
	allowed := f.Class == provider.Live
	if (refusal == nil) != allowed || (checked == nil) != allowed {
		t.Errorf("%s (%s):\nthe API server returns %v\nthe operator returns %v", s.path, f.Class, refusal, checked)
	}
}

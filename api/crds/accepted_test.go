package crds_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// acceptance is an object that must not be refused.
type acceptance struct{ why, change string }

func checkAcceptances(t *testing.T, base string, rows []acceptance) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			for _, complaint := range complaints(t, object(t, base, row.change)) {
				t.Error(complaint)
			}
		})
	}
}

func TestNetworksOfOpenShiftClustersAreAccepted(t *testing.T) {
	checkAcceptances(t, networkBase, []acceptance{
		{"the operator merges the rest from Network.config", `{spec: {clusterNetwork: null, serviceNetwork: null, defaultNetwork: {type: null, ovnKubernetesConfig: {mtu: 1400}}}}`},
		{"nothing at all", `{spec: {clusterNetwork: [], serviceNetwork: [], defaultNetwork: {type: ""}}}`},
		{"what an installation of OpenShift has", `
spec:
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
  serviceNetwork: [172.30.0.0/16]
  managementState: Managed
  observedConfig: null
  unsupportedConfigOverrides: null
  disableNetworkDiagnostics: false
  logLevel: Normal
  operatorLogLevel: Normal
  useMultiNetworkPolicy: false
  deployKubeProxy: false
  disableMultiNetwork: false
  defaultNetwork:
    type: OVNKubernetes
    ovnKubernetesConfig:
      egressIPConfig: {}
      gatewayConfig: {ipForwarding: "", ipv4: {}, ipv6: {}, routingViaHost: false}
      genevePort: 6081
      ipsecConfig: {mode: Disabled}
      mtu: 1400
      policyAuditConfig: {destination: "null", maxFileSize: 50, maxLogFiles: 5, rateLimit: 20, syslogFacility: local0}`},
		{"settings of the former network", `{spec: {defaultNetwork: {type: OVNKubernetes, ovnKubernetesConfig: {}, openshiftSDNConfig: {mode: NetworkPolicy}, kuryrConfig: {}}}}`},
		{"settings of the network that the cluster is about to move to", `{spec: {defaultNetwork: {type: OpenShiftSDN, ovnKubernetesConfig: {mtu: 1400}}}}`},
		{"dual stack", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: "fd01::/48", hostPrefix: 64}], serviceNetwork: [172.30.0.0/16, "fd02::/112"], defaultNetwork: {type: OVNKubernetes}}}`},
		{"several pools of one family", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 10.132.0.0/14, hostPrefix: 23}], defaultNetwork: {type: OVNKubernetes}}}`},
		{"another network does not use hostPrefix", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14}], defaultNetwork: {type: Calico}}}`},
		{"nor minds settings of OpenShift's types", `{spec: {defaultNetwork: {type: Calico, ovnKubernetesConfig: {}}}}`},
		{"names were once written in any case", `{spec: {defaultNetwork: {type: OpenshiftSDN, openshiftSDNConfig: {mode: Networkpolicy}}}}`},
		{"Force means Managed", `{spec: {managementState: Force}}`},
		{"no level is the default", `{spec: {logLevel: "", operatorLogLevel: ""}}`},
		{"routes are advertised by FRR", `{spec: {defaultNetwork: {type: OVNKubernetes, ovnKubernetesConfig: {routeAdvertisements: Enabled}}, additionalRoutingCapabilities: {providers: [FRR]}}}`},
	})
}

func TestAllFlannelSettingsAreAccepted(t *testing.T) {
	flannel := func(settings string) string { return `{spec: {defaultNetwork: {flannelConfig: ` + settings + `}}}` }
	checkAcceptances(t, networkBase, []acceptance{
		{"no settings are needed", `{}`},
		{"nor have they content", flannel(`{etcd: {managed: {}}, backend: "", interface: "", mtu: null}`)},
		{"the limits below", flannel(`{backend: vxlan, mtu: 576, vxlan: {vni: 1, port: 1}}`)},
		{"the limits above", flannel(`{backend: vxlan, mtu: 65535, vxlan: {vni: 16777215, port: 65535}, interface: abcdefghijklmno}`)},
		{"the name of a VLAN", flannel(`{interface: bond0.100}`)},
		{"etcd of a third party", flannel(`{etcd: {prefix: /a/b, external: {endpoints: ["https://etcd.example:2379", "https://[2001:db8::1]:2379"], caConfigMap: ca, clientCertificateSecret: client}}}`)},
		{"etcd of a third party without TLS", flannel(`{etcd: {external: {endpoints: ["http://192.0.2.1:2379"]}}}`)},
		{"etcd of the operator", flannel(`{etcd: {managed: {clientPort: 2381, peerPort: 2382, dataDir: /data/etcd-1.d}}}`)},
		{"the name in any case", `{spec: {defaultNetwork: {type: flannel, flannelConfig: {}}}}`},
		{"all of the pool for one node", `{spec: {clusterNetwork: [{cidr: 10.244.0.0/24, hostPrefix: 24}]}}`},
	})
}

func TestAllKubeProxySettingsAreAccepted(t *testing.T) {
	proxy := func(settings string) string { return `{spec: {kubeProxyConfig: ` + settings + `}}` }
	checkAcceptances(t, networkBase, []acceptance{
		{"empty is the default", proxy(`{iptablesSyncPeriod: "", bindAddress: "", proxyArguments: {}}`)},
		{"zero needs no unit", proxy(`{iptablesSyncPeriod: "0"}`)},
		{"units and fractions", proxy(`{iptablesSyncPeriod: 1h2m3.5s4ms5us6µs7ns}`)},
		{"IPv6", proxy(`{bindAddress: "::"}`)},
		{"arguments are free", proxy(`{proxyArguments: {proxy-mode: [nftables], v: ["2"]}}`)},
	})
}

func TestNetworkConfigsAreAccepted(t *testing.T) {
	checkAcceptances(t, networkConfigBase, []acceptance{
		{"the least", `{}`},
		{"everything that was documented", `
spec:
  clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 9}, {cidr: 192.168.0.0/18, hostSubnetLength: 9}]
  defaultNetwork:
    openshiftSDNConfig: {mode: NetworkPolicy, vxlanPort: 4789, mtu: 1450, useExternalOpenvswitch: false}
  deployKubeProxy: false
  kubeProxyConfig: {iptablesSyncPeriod: 30s, bindAddress: 0.0.0.0, proxyArguments: {iptables-min-sync-period: [30s]}}`},
		{"the spelling of the first version", `{spec: {defaultNetwork: {type: OpenshiftSDN, openshiftSDNConfig: {mode: Networkpolicy}}}}`},
		{"fields that the first version declared", `{spec: {defaultNetwork: {otherConfig: {a: b}}, additionalNetworks: [{name: a, type: Raw, rawCNIConfig: "{}"}]}}`},
		{"flannel", `{spec: {defaultNetwork: {type: Flannel, flannelConfig: {backend: vxlan}}}}`},
		{"IPv6", `{spec: {clusterNetworks: [{cidr: "fd01::/48", hostSubnetLength: 64}], serviceNetwork: "fd02::/112", defaultNetwork: {type: acme}}}`},
		{"all of a pool for one node", `{spec: {clusterNetworks: [{cidr: 10.128.0.0/30, hostSubnetLength: 2}]}}`},
	})
}

// The operator refuses an unsafe change, since only it knows whether the network is in use and whether the
// change was forced; the API server must let it through.
func TestUnsafeChangesReachTheOperator(t *testing.T) {
	server := apitest.Shared(t)
	network := object(t, networkBase, `{}`)
	server.Create(t, network)
	merge(network.Object, object(t, networkBase, `
spec:
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
  serviceNetwork: [172.30.0.0/16]
  defaultNetwork: {type: OVNKubernetes}`).Object)
	if err := server.Client.Update(t.Context(), network); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatTheOperatorDoesNotReadAreKept(t *testing.T) {
	server := apitest.Shared(t)
	const kept = `{spec: {observedConfig: {a: {b: [1, {c: null}]}}, unsupportedConfigOverrides: {x: "y"}}}`
	network := object(t, networkBase, kept)
	server.Create(t, network)
	got := network.DeepCopy()
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(network), got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"observedConfig", "unsupportedConfigOverrides"} {
		want, _, _ := unstructured.NestedFieldNoCopy(object(t, kept, `{}`).Object, "spec", name)
		value, _, _ := unstructured.NestedFieldNoCopy(got.Object, "spec", name)
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, value)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

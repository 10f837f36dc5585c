package crds_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

const clusterNetworkBase = `
apiVersion: network.openshift.io/v1
kind: ClusterNetwork
metadata: {name: default}
network: 10.128.0.0/14
hostsubnetlength: 9
serviceNetwork: 172.30.0.0/16
pluginName: redhat/openshift-ovs-networkpolicy
clusterNetworks: [{CIDR: 10.128.0.0/14, hostSubnetLength: 9}]
vxlanPort: 4789
mtu: 1450
`

const hostSubnetBase = `
apiVersion: network.openshift.io/v1
kind: HostSubnet
metadata: {name: worker-0}
host: worker-0
hostIP: 192.0.2.11
subnet: 10.128.2.0/23
`

const netNamespaceBase = `
apiVersion: network.openshift.io/v1
kind: NetNamespace
metadata: {name: shop}
netname: shop
netid: 4711
`

const egressNetworkPolicyBase = `
apiVersion: network.openshift.io/v1
kind: EgressNetworkPolicy
metadata: {name: default, namespace: default}
spec:
  egress:
  - {type: Deny, to: {cidrSelector: 0.0.0.0/0}}
`

func TestObjectsOfOpenShiftSDNAreAccepted(t *testing.T) {
	checkAcceptances(t, clusterNetworkBase, []acceptance{
		{"as the operator of OpenShift writes it", `{}`},
		{"several pools", `{clusterNetworks: [{CIDR: 10.128.0.0/14, hostSubnetLength: 9}, {CIDR: 192.168.0.0/18, hostSubnetLength: 2}]}`},
	})
	checkAcceptances(t, hostSubnetBase, []acceptance{
		{"as the controller writes it", `{metadata: {annotations: {pod.network.openshift.io/node-uid: 0fd4}}}`},
		{"an appliance that gets a block", `{subnet: null, metadata: {annotations: {pod.network.openshift.io/assign-subnet: "true", pod.network.openshift.io/fixed-vnid-host: "0"}}}`},
		{"the same with an empty block", `{subnet: "", metadata: {annotations: {pod.network.openshift.io/assign-subnet: "true"}}}`},
		{"a name with dots", `{metadata: {name: worker-0.example.com}, host: worker-0.example.com}`},
		{"manual egress IPs", `{egressIPs: [192.0.2.100, 192.0.2.101]}`},
		{"automatic egress IPs", `{egressCIDRs: [192.0.2.128/25], egressIPs: [192.0.2.130]}`},
		{"host bits, which oc patch examples have", `{egressCIDRs: [192.0.2.129/25]}`},
		{"no egress IPs any more", `{egressIPs: [], egressCIDRs: []}`},
	})
	checkAcceptances(t, netNamespaceBase, []acceptance{
		{"the least", `{}`},
		{"all others", `{netid: 0}`},
		{"the control plane", `{netid: 1}`},
		{"the lowest VNID", `{netid: 10}`},
		{"the highest VNID", `{netid: 16777215}`},
		{"egress IPs", `{egressIPs: [192.0.2.100, 198.51.100.7]}`},
		{"multicast and a wish", `{metadata: {annotations: {netnamespace.network.openshift.io/multicast-enabled: "true", pod.network.openshift.io/multitenant.change-network: "join:default"}}}`},
	})
	checkAcceptances(t, egressNetworkPolicyBase, []acceptance{
		{"everything", `{}`},
		{"nothing", `{spec: {egress: []}}`},
		{"as OpenShift documents it", `
spec:
  egress:
  - {type: Allow, to: {cidrSelector: 1.2.3.0/24}}
  - {type: Allow, to: {dnsName: www.foo.com}}
  - {type: Deny, to: {cidrSelector: 0.0.0.0/0}}`},
		{"host bits and the old spelling of everything, which get a warning", `{spec: {egress: [{type: Deny, to: {cidrSelector: 1.2.3.4/24}}, {type: Deny, to: {cidrSelector: 0.0.0.0/32}}]}}`},
		{"names with a dot at the end, in capitals, with digits", `{spec: {egress: [{type: Allow, to: {dnsName: Example.COM.}}, {type: Allow, to: {dnsName: 7.a-b.x}}]}}`},
		{"the longest part of a name", `{spec: {egress: [{type: Allow, to: {dnsName: ` + strings.Repeat("a", 63) + `.example.com}}]}}`},
		{"an empty selector beside the other one", `{spec: {egress: [{type: Allow, to: {dnsName: example.com, cidrSelector: ""}}]}}`},
		{"as many rules as may be", `{spec: {egress: [` + strings.Repeat(`{type: Allow, to: {dnsName: www.example.com}}, `, 1000) + `]}}`},
	})
}

func TestObjectsOfOpenShiftSDNAreRefusedWithTheWayOut(t *testing.T) {
	checkRefusals(t, clusterNetworkBase, []refusal{
		{"IPv6", `{serviceNetwork: "fd02::/112", clusterNetworks: [{CIDR: "fd01::/48", hostSubnetLength: 9}]}`, []string{
			`serviceNetwork: Invalid value: "fd02::/112": "fd02::/112" is not an IPv4 network; write an address and a prefix, e.g. 10.128.0.0/14`,
			`clusterNetworks[0].CIDR: Invalid value: "fd01::/48": "fd01::/48" is not an IPv4 network; write an address and a prefix, e.g. 10.128.0.0/14`}},
	})
	checkRefusals(t, hostSubnetBase, []refusal{
		{"another host", `{host: worker-1}`, []string{
			`host: Invalid value: "worker-1" is not the name of the object; write worker-0, or create a HostSubnet of that other name`}},
		{"an address of IPv6", `{hostIP: "2001:db8::1"}`, []string{
			`hostIP: Invalid value: "2001:db8::1": "2001:db8::1" is not the IPv4 address of a host; write the one to which other nodes send VXLAN, e.g. 192.0.2.11`}},
		{"loopback", `{hostIP: 127.0.0.1}`, []string{
			`hostIP: Invalid value: "127.0.0.1": "127.0.0.1" is not the IPv4 address of a host; write the one to which other nodes send VXLAN, e.g. 192.0.2.11`}},
		{"a block with host bits", `{subnet: 10.128.2.1/23}`, []string{
			`subnet: Invalid value: "10.128.2.1/23": "10.128.2.1/23" is not an IPv4 network; write the first address of a block and its prefix, e.g. 10.128.2.0/23`}},
		{"the node's own address as egress IP", `{egressIPs: [192.0.2.100, 192.0.2.11]}`, []string{
			`egressIPs: Invalid value: "192.0.2.11" is the address of the node itself, which cannot be an egress IP; choose one that no host has`}},
		{"an address with a prefix", `{egressIPs: [192.0.2.100/24]}`, []string{
			`egressIPs[0]: Invalid value: "192.0.2.100/24": "192.0.2.100/24" is not an IPv4 address; write one without a prefix, e.g. 192.0.2.100`}},
		{"a network without a prefix", `{egressCIDRs: [192.0.2.128]}`, []string{
			`egressCIDRs[0]: Invalid value: "192.0.2.128": "192.0.2.128" is not an IPv4 network; write an address and a prefix, e.g. 192.0.2.128/25`}},
	})
	const special = `cannot be the source of packets; write a unicast address that is not loopback or link-local, e.g. 192.0.2.100`
	checkRefusals(t, netNamespaceBase, []refusal{
		{"another namespace", `{netname: other}`, []string{
			`netname: Invalid value: "other" is not the name of the object; write shop, or create a NetNamespace of that other name`}},
		{"a reserved VNID", `{netid: 9}`, []string{
			`netid: Invalid value: 9: 9 is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215 (1 is the control plane of OpenShift, 2 to 9 are reserved)`}},
		{"the first reserved VNID", `{netid: 2}`, []string{
			`netid: Invalid value: 2: 2 is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215 (1 is the control plane of OpenShift, 2 to 9 are reserved)`}},
		{"more than 24 bits", `{netid: 16777216}`, []string{
			`netid: Invalid value: 16777216: 16777216 is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215 (1 is the control plane of OpenShift, 2 to 9 are reserved)`}},
		{"a negative VNID", `{netid: -1}`, []string{
			`netid: Invalid value: -1: -1 is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215 (1 is the control plane of OpenShift, 2 to 9 are reserved)`}},
		{"loopback and multicast", `{egressIPs: [127.0.0.1, 224.0.0.5, 169.254.1.1, 0.0.0.0]}`, []string{
			`egressIPs[0]: Invalid value: "127.0.0.1": "127.0.0.1" ` + special, `egressIPs[1]: Invalid value: "224.0.0.5": "224.0.0.5" ` + special,
			`egressIPs[2]: Invalid value: "169.254.1.1": "169.254.1.1" ` + special, `egressIPs[3]: Invalid value: "0.0.0.0": "0.0.0.0" ` + special}},
		{"IPv6", `{egressIPs: ["2001:db8::1"]}`, []string{
			`egressIPs[0]: Invalid value: "2001:db8::1": "2001:db8::1" is not an IPv4 address; write one without a prefix, e.g. 192.0.2.100`}},
	})
}

func TestEgressNetworkPoliciesAreRefusedWithTheWayOut(t *testing.T) {
	to := func(fields string) string { return `{spec: {egress: [{type: Allow, to: {` + fields + `}}]}}` }
	const cidr, name = `spec.egress[0].to.cidrSelector: Invalid value: `, `spec.egress[0].to.dnsName: Invalid value: `
	const parts = `is not a DNS name; write letters, digits and hyphens between dots, at most 63 in each part and 253 in all, e.g. www.example.com`
	const unchecked = `<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`
	long := strings.Repeat("a", 64) + ".example.com"
	checkRefusals(t, egressNetworkPolicyBase, []refusal{
		{"a type that begins as one", `{spec: {egress: [{type: Allowed, to: {dnsName: example.com}}]}}`, []string{
			`spec.egress[0].type: Unsupported value: "Allowed": supported values: "Allow", "Deny"`, unchecked}},
		{"a type that ends as one", `{spec: {egress: [{type: NoDeny, to: {dnsName: example.com}}]}}`, []string{
			`spec.egress[0].type: Unsupported value: "NoDeny": supported values: "Allow", "Deny"`, unchecked}},
		{"both selectors", to(`cidrSelector: 1.2.3.0/24, dnsName: example.com`), []string{
			`spec.egress[0].to: Invalid value: has both cidrSelector 1.2.3.0/24 and dnsName example.com; write a rule for each of them`}},
		{"no selector", to(``), []string{
			`spec.egress[0].to: Invalid value: has neither cidrSelector nor dnsName; write one of them, e.g. {cidrSelector: 0.0.0.0/0} for everything`}},
		{"IPv6", to(`cidrSelector: "2001:db8::/32"`), []string{cidr + `"2001:db8::/32": "2001:db8::/32" is IPv6, which this network does not have; write an IPv4 network, or remove the rule`}},
		{"an address", to(`cidrSelector: 203.0.113.26`), []string{cidr + `"203.0.113.26": "203.0.113.26" has no prefix; write 203.0.113.26/32 for this address alone`}},
		{"half a network", to(`cidrSelector: 10.0/8`), []string{cidr + `"10.0/8": "10.0/8" is not an IPv4 network; write an address and a prefix, e.g. 203.0.113.0/24`}},
		{"an address as a name", to(`dnsName: 203.0.113.26`), []string{name + `"203.0.113.26": "203.0.113.26" is not a DNS name; write an address as cidrSelector, e.g. 203.0.113.26/32`}},
		{"a wildcard", to(`dnsName: "*.example.com"`), []string{name + `"*.example.com": "*.example.com" is not a DNS name; wildcards are not supported, so write a rule for each name`}},
		{"a hyphen at the begin", to(`dnsName: -a.example.com`), []string{name + `"-a.example.com": "-a.example.com" ` + parts}},
		{"two dots", to(`dnsName: a..example.com`), []string{name + `"a..example.com": "a..example.com" ` + parts}},
		{"a part of 64", to(`dnsName: ` + long), []string{name + `"` + long + `": "` + long + `" ` + parts}},
		{"1,001 rules", `{spec: {egress: [` + strings.Repeat(`{type: Allow, to: {dnsName: www.example.com}}, `, 1001) + `]}}`, []string{
			`spec.egress: Invalid value: has 1001 rules, and a namespace may have at most 1000; combine networks that are adjacent, or end with one rule for everything else (0.0.0.0/0)`}},
	})
}

// TestNodeBlockIsImmutable: pods have addresses of it.
func TestNodeBlockIsImmutable(t *testing.T) {
	server := apitest.Shared(t)
	subnet := object(t, hostSubnetBase, `{subnet: ""}`)
	server.Create(t, subnet)
	for _, step := range []struct{ change, want string }{
		{`{subnet: 10.128.2.0/23}`, ""},
		{`{hostIP: 192.0.2.12}`, ""},
		{`{subnet: 10.128.4.0/23}`, `"10.128.4.0/23" is not 10.128.2.0/23, from which pods of the node have their addresses; set it back, or delete the HostSubnet`},
		{`{subnet: null}`, `"" is not 10.128.2.0/23, from which pods of the node have their addresses; set it back, or delete the HostSubnet`},
	} {
		live := subnet.DeepCopy()
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(subnet), live); err != nil {
			t.Fatal(err)
		}
		merge(live.Object, object(t, step.change, `{}`).Object)
		got := ""
		if err := server.Client.Update(t.Context(), live); err != nil {
			got = err.Error()
		}
		if (step.want == "") != (got == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.change, got, step.want)
		}
	}
}

func TestColumnsOfOpenShiftSDN(t *testing.T) {
	server := apitest.Shared(t)
	server.Create(t, object(t, netNamespaceBase, `{egressIPs: [192.0.2.100]}`))
	got := table(t, server, "/apis/network.openshift.io/v1/netnamespaces")
	if diff := cmp.Diff([][]any{{"Name", "NetID", "Egress IPs"}, {"shop", float64(4711), `["192.0.2.100"]`}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenShiftSDNCRDs(t *testing.T) {
	definitions, err := crds.OpenShiftSDN()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range definitions {
		names = append(names, d.Name)
		for _, path := range undescribed("", d.Spec.Versions[0].Schema.OpenAPIV3Schema) {
			if path != ".metadata" {
				t.Errorf("%s: %s has no description", d.Name, path)
			}
		}
	}
	want := []string{"clusternetworks.network.openshift.io", "egressnetworkpolicies.network.openshift.io", "hostsubnets.network.openshift.io", "netnamespaces.network.openshift.io"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

package crds_test

import "testing"

const hostNetworkBase = `
apiVersion: network.operator.openshift.io/v1
kind: HostNetworkConfig
metadata: {name: worker}
spec:
  role: worker
  bridge: {uplink: {interface: eno1}}
`

func TestHostNetworkConfigsAreAccepted(t *testing.T) {
	checkAcceptances(t, hostNetworkBase, []acceptance{
		{"the least", `{}`},
		{"a template takes all that NMState knows", `{spec: {bridge: null, template: {interfaces: [{name: a, made-up: 1}], capture: {}}}}`},
		{"values stand for addresses", `{spec: {bridge: {ipv4: {method: Static, address: "${ip}", gateway: "${gw}"}, dnsServers: ["${dns}"]}}}`},
		{"a VLAN is a number or a value", `{spec: {bridge: {uplink: {vlan: {id: "${vlan}"}}}}}`},
		{"both families", `{spec: {bridge: {ipv4: {method: Static, address: 192.0.2.1/24}, ipv6: {method: Static, address: "2001:db8::1/64", gateway: "fe80::1"}}}}`},
		{"hosts by short and full names, and addresses", `{spec: {hosts: [{name: w-0}, {name: w-1.example.com, macAddresses: ["52:54:00:AB:cd:ef"], strategy: Merge, desiredState: {interfaces: []}}]}}`},
		{"a role of its own", `{spec: {role: infra, phases: [PreBoot, FirstBoot]}}`},
		{"a bond", `{spec: {bridge: {uplink: {interface: null, bond: {mode: 802.3ad, ports: [a, b], options: {miimon: "100"}}, vlan: {id: 4094}}}}}`},
	})
}

func TestHostNetworkConfigsAreRefusedWithTheWayOut(t *testing.T) {
	bridge := func(settings string) string { return `{spec: {bridge: ` + settings + `}}` }
	checkRefusals(t, hostNetworkBase, []refusal{
		{"nothing", `{spec: {bridge: null}}`, []string{`spec: Invalid value: nothing is configured; write a template, a bridge, or hosts`}},
		{"a role is part of a label", `{spec: {role: Worker}}`, []string{`spec.role: Invalid value: "Worker": "Worker" is not a role; write the last part of a node-role.kubernetes.io label, for example worker`}},
		{"two uplinks", bridge(`{uplink: {auto: DefaultRoute}}`), []string{`spec.bridge.uplink: Invalid value: write one of interface, macAddress, bond and auto`}},
		{"no uplink", bridge(`{uplink: {interface: null}}`), []string{`spec.bridge.uplink: Invalid value: write one of interface, macAddress, bond and auto`}},
		{"a VLAN of nothing", bridge(`{uplink: {vlan: {id: 4095}}}`), []string{`spec.bridge.uplink.vlan.id: Invalid value: 4095: 4095 is not a VLAN; use 1 to 4094`}},
		{"static without an address", bridge(`{ipv4: {method: Static}}`), []string{`spec.bridge.ipv4: Invalid value: method is Static, which needs an address`}},
		{"an address by DHCP", bridge(`{ipv4: {method: DHCP, address: 192.0.2.1/24, gateway: 192.0.2.2}}`), []string{
			`spec.bridge.ipv4: Invalid value: address is set but method is DHCP; remove one`, `spec.bridge.ipv4: Invalid value: gateway is set but method is DHCP; remove one`}},
		{"an address without a prefix", bridge(`{ipv4: {method: Static, address: 192.0.2.1}}`), []string{`spec.bridge.ipv4.address: Invalid value: "192.0.2.1" is not an IPv4 address with a prefix; write for example 192.0.2.10/24`}},
		{"the other family", bridge(`{ipv6: {method: Static, address: 192.0.2.1/24}}`), []string{`spec.bridge.ipv6.address: Invalid value: "192.0.2.1/24" is not an IPv6 address with a prefix; write for example 2001:db8::10/64`}},
		{"a gateway with a prefix", bridge(`{ipv4: {method: Static, address: 192.0.2.1/24, gateway: 192.0.2.2/24}}`), []string{`spec.bridge.ipv4.gateway: Invalid value: "192.0.2.2/24": "192.0.2.2/24" is not an IP address; write one without a prefix, for example 192.0.2.1`}},
		{"a name that no host has", `{spec: {hosts: [{name: W_0}]}}`, []string{`spec.hosts[0].name: Invalid value: "W_0": "W_0" is not a host name; use lower-case letters, digits, - and dots`}},
		{"the name of the file of all", `{spec: {hosts: [{name: cluster.example.com}]}}`, []string{`spec.hosts[0].name: Invalid value: "cluster.example.com": a host must not be called "cluster.example.com", which is not the name of one host`}},
		{"not a MAC address", `{spec: {hosts: [{name: a, macAddresses: ["52:54:00"]}]}}`, []string{`spec.hosts[0].macAddresses[0]: Invalid value: "52:54:00": "52:54:00" is not a MAC address; write six bytes, for example 52:54:00:12:34:56`}},
	})
}

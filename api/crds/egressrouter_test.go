package crds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

const egressRouterBase = `
apiVersion: network.operator.openshift.io/v1
kind: EgressRouter
metadata: {name: router, namespace: default}
spec:
  addresses: [{ip: 192.168.12.99/24, gateway: 192.168.12.1}]
  redirect: {fallbackIP: 203.0.113.26}
`

// dualStack is the base with an address of each family.
const dualStack = `{ip: 192.168.12.99/24, gateway: 192.168.12.1}, {ip: "2001:db8:c::99/64", gateway: "2001:db8:c::1"}`

func TestEgressRoutersAreAccepted(t *testing.T) {
	checkAcceptances(t, egressRouterBase, []acceptance{
		{"the least", `{}`},
		{"what OpenShift documents", `
spec:
  networkInterface: {macvlan: {mode: Bridge}}
  addresses: [{ip: 192.168.12.99/24, gateway: 192.168.12.1}]
  mode: Redirect
  redirect:
    redirectRules:
    - {destinationIP: 10.0.0.99, port: 80, protocol: UDP}
    - {destinationIP: 203.0.113.26, port: 8080, protocol: TCP, targetPort: 80}
    - {destinationIP: 203.0.113.27, port: 8443, protocol: TCP, targetPort: 443}`},
		{"rules alone refuse other ports", `{spec: {redirect: {fallbackIP: null, redirectRules: [{port: 1, protocol: SCTP, destinationIP: 203.0.113.1, targetPort: 65535}]}}}`},
		{"one port of two protocols", `{spec: {redirect: {redirectRules: [{port: 53, protocol: UDP, destinationIP: 203.0.113.1}, {port: 53, protocol: TCP, destinationIP: 203.0.113.2}]}}}`},
		{"one port of two families", `{spec: {addresses: [` + dualStack + `], redirect: {redirectRules: [{port: 53, protocol: UDP, destinationIP: 203.0.113.1}, {port: 53, protocol: UDP, destinationIP: "2001:db8::1"}]}}}`},
		{"the same port on both sides is no other port", `{spec: {addresses: [` + dualStack + `], redirect: {redirectRules: [{port: 53, protocol: UDP, destinationIP: "2001:db8::1", targetPort: 53}]}}}`},
		{"an IPv6 router has a link-local address", `{spec: {addresses: [{ip: "2001:db8::99/64", gateway: "fe80::1"}], redirect: {fallbackIP: "2001:db8:1::1"}}}`},
		{"two addresses in a network of two", `{spec: {addresses: [{ip: 192.0.2.0/31, gateway: 192.0.2.1}]}}`},
		{"every mode of macvlan, on a VLAN", `{spec: {networkInterface: {macvlan: {mode: Passthru, master: bond0.100}}}}`},
		{"a master that is not set", `{spec: {networkInterface: {macvlan: {mode: VEPA, master: ""}}}}`},
	})
}

func TestEgressRoutersAreRefusedWithTheWayOut(t *testing.T) {
	address := func(fields string) string { return `{spec: {addresses: [{` + fields + `}]}}` }
	redirect := func(fields string) string { return `{spec: {redirect: {` + fields + `}}}` }
	rule := func(fields string) string { return redirect(`redirectRules: [{` + fields + `}]`) }
	macvlan := func(fields string) string { return `{spec: {networkInterface: {macvlan: {` + fields + `}}}}` }
	const ip, gateway, port, target, fallback = "spec.addresses[0].ip", "spec.addresses[0].gateway", "spec.redirect.redirectRules[0].port", "spec.redirect.redirectRules[0].targetPort", "spec.redirect.fallbackIP"
	// What the server adds when a value is not one of a list.
	const unchecked = `<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`
	checkRefusals(t, egressRouterBase, []refusal{
		{"half an address", address(`ip: 1.2.3, gateway: 192.168.12.1`), []string{ip + `: Invalid value: "1.2.3": "1.2.3" is not a CIDR; write an address and the length of the prefix of its network, e.g. 192.168.12.99/24`}},
		{"an address without a prefix", address(`ip: 192.168.12.99, gateway: 192.168.12.1`), []string{ip + `: Invalid value: "192.168.12.99": "192.168.12.99" is not a CIDR; add the length of the prefix of its network, e.g. 192.168.12.99/24`}},
		{"a prefix too long", address(`ip: 192.168.12.99/33, gateway: 192.168.12.1`), []string{ip + `: Invalid value: "192.168.12.99/33": "192.168.12.99/33" is not a CIDR; write an address and the length of the prefix of its network, e.g. 192.168.12.99/24`}},
		{"a network", address(`ip: 192.168.12.0/24, gateway: 192.168.12.1`), []string{ip + `: Invalid value: "192.168.12.0/24": "192.168.12.0/24" is the network, not an address in it; write the one that the router is to have`}},
		{"multicast", address(`ip: 224.0.0.5/24, gateway: 224.0.0.1`), []string{ip + `: Invalid value: "224.0.0.5/24": "224.0.0.5/24" cannot be the address of a router; write a unicast address that is not loopback or link-local, e.g. 192.168.12.99/24`}},
		{"not a gateway", address(`ip: 192.168.12.99/24, gateway: 999.1.1.1`), []string{gateway + `: Invalid value: "999.1.1.1": "999.1.1.1" is not an IP address; write that of the router of the network, without a prefix, e.g. 192.168.12.1`}},
		{"no gateway", address(`ip: 192.168.12.99/24`), []string{gateway + `: Invalid value: is missing; write the address of the router of the network of 192.168.12.99/24, since everything that the pod sends goes there`}},
		{"a gateway elsewhere", address(`ip: 192.168.12.99/24, gateway: 10.2.0.1`), []string{gateway + `: Invalid value: "10.2.0.1" is not inside 192.168.12.0/24; write the address that the router has in that network`}},
		{"a gateway of the other family", address(`ip: 192.168.12.99/24, gateway: "fe80::1"`), []string{gateway + `: Invalid value: "fe80::1" is IPv6, and the address 192.168.12.99/24 is IPv4; write a gateway of the same family`}},
		{"its own gateway", address(`ip: 192.168.12.99/24, gateway: 192.168.12.99`), []string{gateway + `: Invalid value: "192.168.12.99" is the address of this router itself; write that of the next one`}},
		{"no address", `{spec: {addresses: []}}`, []string{
			`spec.addresses: Invalid value: is empty; the router needs at least one address, e.g. {ip: 192.168.12.99/24, gateway: 192.168.12.1}`,
			fallback + `: Invalid value: "203.0.113.26" is IPv4, and the router has no IPv4 address; add one to spec.addresses, or remove the fallback`}},
		{"two of one family", `{spec: {addresses: [{ip: 192.168.12.99/24, gateway: 192.168.12.1}, {ip: 10.0.0.9/8, gateway: 10.0.0.1}]}}`, []string{
			`spec.addresses: Invalid value: there may be at most one address per family, and 192.168.12.99/24 is not the only one of IPv4; remove the others, and create a router for each of them`}},
		{"port 0", rule(`port: 0, protocol: TCP, destinationIP: 203.0.113.1`), []string{port + `: Invalid value: 0: 0 is not a port; use 1 to 65535. To send all ports to one destination, use fallbackIP`}},
		{"port 70000 twice", rule(`port: 70000, protocol: TCP, destinationIP: 203.0.113.1, targetPort: 70001`), []string{
			port + `: Invalid value: 70000: 70000 is not a port; use 1 to 65535. To send all ports to one destination, use fallbackIP`,
			target + `: Invalid value: 70001: 70001 is not a port; use 1 to 65535, or leave it out to use port`}},
		{"ICMP has no ports", rule(`port: 80, protocol: ICMP, destinationIP: 203.0.113.1`), []string{`spec.redirect.redirectRules[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`, unchecked}},
		{"a name is no address", rule(`port: 80, protocol: TCP, destinationIP: example.com`), []string{`spec.redirect.redirectRules[0].destinationIP: Invalid value: "example.com": "example.com" is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26`}},
		{"the router itself", rule(`port: 80, protocol: TCP, destinationIP: 127.0.0.1`), []string{`spec.redirect.redirectRules[0].destinationIP: Invalid value: "127.0.0.1": "127.0.0.1" cannot be reached through a router; write a unicast address that is not loopback or link-local, e.g. 203.0.113.26`}},
		{"a destination of a family without an address", rule(`port: 80, protocol: TCP, destinationIP: "2001:db8::1"`), []string{`spec: Invalid value: spec.redirect.redirectRules[0].destinationIP: "2001:db8::1" is IPv6, and the router has no IPv6 address; add one to spec.addresses, or remove the rule`}},
		{"a fallback of a family without an address", redirect(`fallbackIP: "2001:db8::1"`), []string{fallback + `: Invalid value: "2001:db8::1" is IPv6, and the router has no IPv6 address; add one to spec.addresses, or remove the fallback`}},
		{"a fallback with a port", redirect(`fallbackIP: "203.0.113.1:80"`), []string{fallback + `: Invalid value: "203.0.113.1:80": "203.0.113.1:80" is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26`}},
		{"a port twice", redirect(`redirectRules: [{port: 80, protocol: TCP, destinationIP: 203.0.113.1}, {port: 80, protocol: TCP, destinationIP: 203.0.113.2}]`), []string{
			`spec.redirect.redirectRules: Invalid value: TCP port 80 is redirected more than once, and only the first rule counts; remove all but one`}},
		{"no redirect", `{spec: {redirect: null}}`, []string{`spec.redirect: Invalid value: is missing; mode Redirect needs redirectRules, a fallbackIP, or both`}},
		{"nothing to redirect", redirect(`fallbackIP: null`), []string{`spec.redirect: Invalid value: has neither redirectRules nor a fallbackIP, so nothing would be forwarded; add a rule for each port, a fallbackIP for all ports, or both`}},
		{"a mode of another API", `{spec: {mode: DNSProxy}}`, []string{`spec.mode: Unsupported value: "DNSProxy": supported values: "Redirect"`, unchecked}},
		{"a mode in another spelling", macvlan(`mode: bridge`), []string{`spec.networkInterface.macvlan.mode: Unsupported value: "bridge": supported values: "Bridge", "Private", "VEPA", "Passthru"`, unchecked}},
		{"one interface for two addresses", `{spec: {addresses: [` + dualStack + `], networkInterface: {macvlan: {mode: Passthru}}}}`, []string{
			`spec.networkInterface.macvlan.mode: Invalid value: "Passthru" gives the master to one interface, and each address has its own interface; use Bridge, Private or VEPA, or one address`}},
		{"not an interface", macvlan(`master: "eth0/1"`), []string{`spec.networkInterface.macvlan.master: Invalid value: "eth0/1": "eth0/1" is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1`}},
	})
}

func TestEgressRoutersGetTheDefaultsOfOpenShift(t *testing.T) {
	server := apitest.Shared(t)
	router := object(t, egressRouterBase, `{spec: {networkInterface: null}}`)
	server.Create(t, router)
	got := router.DeepCopy()
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(router), got); err != nil {
		t.Fatal(err)
	}
	want := object(t, egressRouterBase, `{spec: {mode: Redirect, networkInterface: {macvlan: {mode: Bridge}}}}`)
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestColumnsOfEgressRoutersShowTheirState(t *testing.T) {
	server := apitest.Shared(t)
	router := object(t, egressRouterBase, `{}`)
	server.Create(t, router)
	merge(router.Object, object(t, `
status:
  conditions:
  - {type: Available, status: "True", reason: AsExpected, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Degraded, status: "False", lastTransitionTime: "2026-01-02T03:04:05Z"}`, `{}`).Object)
	if err := server.Client.Status().Update(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	got := table(t, server, "/apis/network.operator.openshift.io/v1/namespaces/default/egressrouters")
	want := [][]any{
		{"Name", "Condition", "Status", "Reason", "Address", "Age"},
		{"router", "Available", "True", "AsExpected", "192.168.12.99/24", got[1][5]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package northbound_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// joins does what ovn-controller does when pods of a node join a group: the switch then has it.
func (w *world) joins(node, group string, ports ...string) {
	w.t.Helper()
	one := func(table string, condition string) string {
		w.t.Helper()
		return strings.TrimSpace(w.Southbound("--bare", "--columns=_uuid", "find", table, condition))
	}
	var bindings []string
	for _, p := range ports {
		bindings = append(bindings, one("Port_Binding", "logical_port="+p))
	}
	w.Southbound("create", "IGMP_Group", "address="+fmt.Sprintf("%q", group), "datapath="+one("Datapath_Binding", "external_ids:name="+node), "chassis="+one("Chassis", "name="+node), "ports=["+strings.Join(bindings, ",")+"]")
}

// TestMulticastIsEnabledPerNamespace: pods of all namespaces have joined the groups; a packet reaches those of the sender's namespace on all
// nodes, if that has multicast, and no one otherwise.
func TestMulticastIsEnabledPerNamespace(t *testing.T) {
	in := cluster()
	in.Pods = append(in.Pods, pod(node1, "two", "near", 3, nil), pod(node2, "one", "far", 2, nil))
	w := start(t, in)
	a, c := w.in.Pods[0], w.in.Pods[2]
	for _, n := range []string{"node1", "node2"} {
		w.Southbound("chassis-add", n, "geneve", "192.0.2.1"+n[4:])
	}
	groups := map[string]string{"ip4": "239.1.1.1", "ip6": "ff15::1234"}
	for _, group := range groups {
		w.joins("node1", group, "one_b", "two_near")
		w.joins("node2", group, "two_c", "one_far")
	}
	send := func(ip string) func(port, node, mac, source string) []string {
		return func(port, node, mac, source string) []string {
			to := map[string]string{"ip4": "01:00:5e:01:01:01", "ip6": "33:33:00:00:12:34"}[ip]
			outputs, _ := w.Trace("--ct=new", node,
				fmt.Sprintf("inport==%q && eth.src==%s && eth.dst==%s && %s.src==%s && %s.dst==%s && ip.ttl==64 && udp.src==40000 && udp.dst==5000", port, mac, to, ip, source, ip, groups[ip]))
			outputs = slices.DeleteFunc(outputs, func(o string) bool { return !strings.Contains(o, "_") || o == topology.ClusterRouter })
			slices.Sort(outputs)
			return slices.Compact(outputs)
		}
	}
	for _, step := range []struct {
		why        string
		enabled    []string
		one, other string
	}{
		{"no namespace has multicast", nil, "", ""},
		{"one of them: its pods get the packets on both nodes", []string{"one"}, "one_b one_far", ""},
		{"both: they do not get those of one another", []string{"one", "two"}, "one_b one_far", "two_near"},
		{"disabled again", []string{"two"}, "", "two_near"},
	} {
		w.in.Multicast = step.enabled
		w.fill()
		for i, ip := range []string{"ip4", "ip6"} {
			if got := strings.Join(send(ip)("one_a", "node1", a.MAC.String(), a.Addresses[i].String()), " "); got != step.one {
				t.Errorf("%s (%s): the packet of namespace one reaches %q, want %q", step.why, ip, got, step.one)
			}
			if got := strings.Join(send(ip)("two_c", "node2", c.MAC.String(), c.Addresses[i].String()), " "); got != step.other {
				t.Errorf("%s (%s): the packet of namespace two reaches %q, want %q", step.why, ip, got, step.other)
			}
		}
	}
	config := w.Northbound("--bare", "--columns=other_config", "find", "Logical_Switch", "name=node1")
	for _, want := range []string{"mcast_snoop=true", "mcast_querier=true", "mcast_ip4_src=10.128.2.1", "mcast_ip6_src=fe80::858:aff:fe80:201"} {
		if !strings.Contains(config, want) {
			t.Errorf("the switch lacks %s: %s", want, config)
		}
	}
}

package connectivity

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// isolationScenarios returns the scenarios in which pods of one namespace must not reach servers of another one: by the addresses of pods,
// by the Service, and by its node port on their own node. because is the reason.
func isolationScenarios(from, to string, places, servers []place, t target, because string) []scenario {
	var all []scenario
	for _, p := range places {
		add := func(target, node, address, way string, port int) {
			s := scenario{name: fmt.Sprintf("pod of the %s namespace on %s -> %s of the %s (%s, %s), which is isolated", from, p.node, target, to, family(address), wayName(way)),
				kind: decided, from: p.node, to: node, because: because, Probe: probe(way, address, port, 0)}
			s.ID, s.Denied, s.Patient = "isolation-"+from+"-"+strconv.Itoa(len(all)), true, true
			all = append(all, s)
		}
		for _, server := range servers {
			for _, address := range sameFamily(server.pod, p.pod) {
				add("pod on "+server.node, server.node, address, netprobe.TCP, serverPort)
				add("pod on "+server.node, server.node, address, netprobe.UDP, serverPort)
			}
		}
		for _, address := range sameFamily(t.service, p.pod) {
			add("service", "", address, netprobe.TCP, serverPort)
		}
		for _, address := range sameFamily(p.host, p.pod) {
			if t.nodePort > 0 {
				add("node port on "+p.node, "", address, netprobe.TCP, t.nodePort)
			}
		}
	}
	return all
}

// ownScenarios returns the scenarios of pods that reach their own namespace.
func ownScenarios(namespace string, places []place, t target) []scenario {
	var all []scenario
	for _, p := range places {
		add := func(target, node, address string) {
			s := scenario{name: fmt.Sprintf("pod of the %s namespace on %s -> %s of its own (%s, TCP)", namespace, p.node, target, family(address)),
				kind: decided, from: p.node, to: node, because: "both are in one namespace", Probe: probe(netprobe.TCP, address, serverPort, 0)}
			s.ID, s.Patient = "own-"+namespace+"-"+strconv.Itoa(len(all)), true
			all = append(all, s)
		}
		for _, server := range places {
			for _, address := range sameFamily(server.pod, p.pod) {
				add("pod on "+server.node, server.node, address)
			}
		}
		for _, address := range sameFamily(t.service, p.pod) {
			add("service", "", address)
		}
	}
	return all
}

// with returns the union of two trials.
func (t trial) with(other trial) trial {
	t.scenarios, t.notes = append(t.scenarios, other.scenarios...), append(t.notes, other.notes...)
	if t.results == nil {
		t.results = map[string]netprobe.Result{}
	}
	maps.Copy(t.results, other.results)
	return t
}

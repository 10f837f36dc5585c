package connectivity

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// The ports of the servers. Those on hosts are high to avoid conflicts.
const (
	serverPort = 19876
	hostPort   = 19877
	// otherPort is a second port of servers in pods; perfPort is between.
	otherPort   = 19879
	kubeletPort = 10250
)

// place is a node on which pods of a test run.
type place struct {
	node string
	// host has the addresses of the node, pod those of the server on the pod network; none if it could not be started.
	host, pod []string
	// served is true if the server on the host runs.
	served bool
}

// target has the Services of a test, and those that every cluster has.
type target struct {
	// service has the addresses of the Service, nodePort its port on all nodes; name is its full name.
	service  []string
	nodePort int
	name     string
	// api has the addresses of the Service kubernetes; apiPort is its port.
	api     []string
	apiPort int
	// external is an external host and its port; the host is empty if none is tested.
	external     string
	externalPort int
}

// kind is the set of hops of a scenario.
type kind int

const (
	other kind = iota
	// hostHost is from a node to another, podHost from a pod to a node, hostPod from a node to a pod, podPod from a pod
	// to a pod.
	hostHost
	podHost
	hostPod
	podPod
	// decided depends on a NetworkPolicy or on the isolation of namespaces.
	decided
)

// scenario is a connection to test. from and to are places; onHost is true if it is tested from the host network.
type scenario struct {
	netprobe.Probe
	name     string
	kind     kind
	from, to string
	onHost   bool
	// client is the name of the pod that tests it; empty for a pod that no policy selects.
	client string
	// because is a clause with the reason why it is dropped (then Denied is true) or allowed; empty if nothing restricts traffic.
	because string
}

// problem returns the reason why a result is a failure; "" if it is as expected.
func (s scenario) problem(r netprobe.Result) string {
	switch {
	case s.Denied && r.Error == "":
		return "the connection succeeded, although " + s.because
	case s.Denied || r.Error == "":
		return ""
	case s.because != "":
		return fmt.Sprintf("it is not reached, although %s: %s", s.because, r.Error)
	default:
		return r.Error
	}
}

// scenarios returns all scenarios between places.
func scenarios(places []place, t target) []scenario {
	var all []scenario
	add := func(s scenario) {
		s.ID = strconv.Itoa(len(all))
		// Services and node ports take a moment to become effective on all nodes.
		s.Patient = s.kind == other
		all = append(all, s)
	}
	for _, from := range places {
		if from.served {
			fromHost(from, places, t, add)
		}
		if len(from.pod) > 0 {
			fromPod(from, places, t, add)
		}
	}
	return all
}

func probe(way, host string, port, size int) netprobe.Probe {
	return netprobe.Probe{Way: way, Host: host, Port: port, Size: size}
}

func fromHost(from place, places []place, t target, add func(scenario)) {
	for _, to := range places {
		for _, address := range to.host {
			if from.node == to.node {
				continue
			}
			name := fmt.Sprintf("host %s -> host %s (%s", from.node, to.node, family(address))
			add(scenario{name: name + ", kubelet)", kind: hostHost, from: from.node, to: to.node, onHost: true, Probe: probe(netprobe.Connect, address, kubeletPort, 0)})
			if to.served {
				add(scenario{name: name + ", full packets)", kind: hostHost, from: from.node, to: to.node, onHost: true, Probe: probe(netprobe.UDP, address, serverPort, netprobe.Full)})
			}
		}
		for _, address := range to.pod {
			add(scenario{name: fmt.Sprintf("host %s -> pod on %s (%s)", from.node, to.node, family(address)), kind: hostPod, from: from.node, to: to.node, onHost: true,
				Probe: probe(netprobe.TCP, address, serverPort, 0)})
		}
	}
	for _, address := range t.service {
		add(scenario{name: fmt.Sprintf("host %s -> service (%s)", from.node, family(address)), from: from.node, onHost: true, Probe: probe(netprobe.TCP, address, serverPort, 0)})
	}
}

// ways are the ways in which pods reach pods.
var ways = []struct {
	name, way string
	size      int
}{{"TCP", netprobe.TCP, 0}, {"UDP", netprobe.UDP, 0}, {"TCP, full packets", netprobe.TCP, netprobe.Full}, {"UDP, full packets", netprobe.UDP, netprobe.Full}}

func fromPod(from place, places []place, t target, add func(scenario)) {
	pod := "pod on " + from.node
	for _, to := range places {
		for _, address := range sameFamily(to.pod, from.pod) {
			for _, way := range ways {
				add(scenario{name: fmt.Sprintf("%s -> pod on %s (%s, %s)", pod, to.node, family(address), way.name), kind: podPod, from: from.node, to: to.node,
					Probe: probe(way.way, address, serverPort, way.size)})
			}
		}
		for _, address := range sameFamily(to.host, from.pod) {
			if to.served {
				add(scenario{name: fmt.Sprintf("%s -> host %s (%s)", pod, to.node, family(address)), kind: podHost, from: from.node, to: to.node, Probe: probe(netprobe.TCP, address, serverPort, 0)})
			} else {
				add(scenario{name: fmt.Sprintf("%s -> host %s (%s, kubelet)", pod, to.node, family(address)), kind: podHost, from: from.node, to: to.node, Probe: probe(netprobe.Connect, address, kubeletPort, 0)})
			}
			if len(to.pod) > 0 {
				add(scenario{name: fmt.Sprintf("%s -> host port on %s (%s)", pod, to.node, family(address)), from: from.node, to: to.node, Probe: probe(netprobe.TCP, address, hostPort, 0)})
			}
			if t.nodePort > 0 && to.served && slices.Index(to.host, address) == 0 {
				add(scenario{name: fmt.Sprintf("%s -> node port on %s (%s)", pod, to.node, family(address)), from: from.node, to: to.node, Probe: probe(netprobe.TCP, address, t.nodePort, 0)})
			}
		}
	}
	for _, address := range sameFamily(t.service, from.pod) {
		add(scenario{name: fmt.Sprintf("%s -> service by address (%s, TCP)", pod, family(address)), from: from.node, Probe: probe(netprobe.TCP, address, serverPort, 0)})
		add(scenario{name: fmt.Sprintf("%s -> service by address (%s, UDP)", pod, family(address)), from: from.node, Probe: probe(netprobe.UDP, address, serverPort, 0)})
	}
	for _, address := range sameFamily(t.api, from.pod) {
		add(scenario{name: fmt.Sprintf("%s -> API server by service (%s)", pod, family(address)), from: from.node, Probe: probe(netprobe.Connect, address, t.apiPort, 0)})
	}
	if t.name != "" {
		add(scenario{name: pod + " -> name of the API server", from: from.node, Probe: probe(netprobe.Name, "kubernetes.default.svc", 0, 0)})
		add(scenario{name: pod + " -> service by name", from: from.node, Probe: probe(netprobe.TCP, t.name, serverPort, 0)})
	}
	if t.external != "" {
		add(scenario{name: fmt.Sprintf("%s -> %s outside", pod, t.external), from: from.node, Probe: probe(netprobe.Connect, t.external, t.externalPort, 0)})
	}
}

// wayName returns the protocol of a way.
func wayName(way string) string {
	if way == netprobe.UDP {
		return "UDP"
	}
	return "TCP"
}

func family(address string) string {
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		return "IPv6"
	}
	return "IPv4"
}

// sameFamily returns the addresses whose IP family is among those of others.
func sameFamily(addresses, others []string) []string {
	var out []string
	for _, a := range addresses {
		if slices.ContainsFunc(others, func(o string) bool { return family(o) == family(a) }) {
			out = append(out, a)
		}
	}
	return out
}

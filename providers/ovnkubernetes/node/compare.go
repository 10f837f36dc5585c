package node

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// findings collects findings.
type findings []finding.Finding

func (f *findings) add(kind finding.Kind, place finding.Place, object, what, detail string) {
	*f = append(*f, finding.Finding{Kind: kind, Place: place, Object: object, What: what, Detail: detail})
}

// podView is the state of a node's pods in the API, the agent's files, Open vSwitch and the kernel.
type podView struct {
	// pods are the node's pods with an address of the network, by namespace and name.
	pods    map[string]*corev1.Pod
	records []cniserver.Recorded
	ports   map[string]ovs.Interface
	links   map[string]bool
}

func podName(namespace, name string) string { return namespace + "/" + name }

// ofNode returns the pods that the network attaches, without host-network pods and terminated pods.
func ofNode(all []corev1.Pod) map[string]*corev1.Pod {
	out := map[string]*corev1.Pod{}
	for i := range all {
		p := &all[i]
		if !p.Spec.HostNetwork && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			out[podName(p.Namespace, p.Name)] = p
		}
	}
	return out
}

// comparePods finds remains of pods that do not exist, and missing parts of running pods.
func comparePods(v podView) []finding.Finding {
	var out findings
	// recorded are the links of attachments of existing pods, attached the pods with a link, wired the logical ports with an interface.
	recorded, attached, wired := map[string]cniserver.Pod{}, map[string]bool{}, map[string]bool{}
	for _, r := range v.records {
		pod, name := r.Call.Pod(), linkName(r.Call)
		object, what := "pod "+podName(pod.Namespace, pod.Name), fmt.Sprintf("record of sandbox %q, interface %s", r.Call.ContainerID, r.Call.IfName)
		live := v.pods[podName(pod.Namespace, pod.Name)]
		switch {
		case live == nil:
			out.add(finding.Stale, finding.Records, object, what, "the pod does not exist on this node, or has ended")
		case pod.UID != "" && pod.UID != string(live.UID):
			out.add(finding.Stale, finding.Records, object, what, "the pod of this name is another one")
		case r.Added && !v.links[name]:
			out.add(finding.Stale, finding.Records, object, what, "its interface "+name+" does not exist")
		default:
			attached[podName(pod.Namespace, pod.Name)] = attached[podName(pod.Namespace, pod.Name)] || r.Added
		}
		recorded[name] = pod
	}
	for name := range v.links {
		if _, known := recorded[name]; strings.HasPrefix(name, linkPrefix) && !known {
			out.add(finding.Stale, finding.Links, "no pod", "interface "+name, "the agent has no record of it")
		}
	}
	for name, i := range v.ports {
		out = append(out, comparePort(v, recorded, name, i)...)
		wired[i.ExternalIDs[idInterface]] = true
	}
	for name, p := range v.pods {
		object, port := "pod "+name, topology.PodPort(p.Namespace, p.Name)
		switch {
		case p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil:
		case !attached[name]:
			out.add(finding.Missing, finding.Records, object, "a record of its sandbox", "the pod runs, and is not attached to this network")
		case !wired[port]:
			out.add(finding.Missing, finding.Ports, object, "the port of "+port, "")
		}
	}
	return out
}

// comparePort compares an interface of Open vSwitch with the record of its sandbox. An interface without a sandbox does not belong to a pod.
func comparePort(v podView, recorded map[string]cniserver.Pod, name string, i ovs.Interface) []finding.Finding {
	sandbox, port := i.ExternalIDs[idSandbox], i.ExternalIDs[idInterface]
	if sandbox == "" {
		return nil
	}
	var out findings
	what, object := "port "+name, northbound.PortObject(port)
	pod, known := recorded[name]
	live := v.pods[podName(pod.Namespace, pod.Name)]
	switch {
	case !known:
		out.add(finding.Stale, finding.Ports, object, what, fmt.Sprintf("the agent has no record of sandbox %q", sandbox))
	case !v.links[name]:
		out.add(finding.Stale, finding.Ports, object, what, "its interface does not exist")
	case port != topology.PodPort(pod.Namespace, pod.Name):
		out.add(finding.Different, finding.Ports, "pod "+podName(pod.Namespace, pod.Name), what, "it is bound to logical port "+strconv.Quote(port))
	case live == nil: // comparePods reports the record
	case i.ExternalIDs[idVersion] != string(live.UID):
		out.add(finding.Different, finding.Ports, object, what, "it is bound to the pod with UID "+strconv.Quote(i.ExternalIDs[idVersion]))
	case i.Error != "":
		out.add(finding.Different, finding.Ports, object, what, "open vswitch reports: "+i.Error)
	case !installed(i):
		out.add(finding.Missing, finding.Flows, object, "the flows of port "+name, "ovn-controller has not installed them")
	}
	return out
}

// managementView is the state of the management port in the kernel and in Open vSwitch.
type managementView struct {
	exists    bool
	addresses []netip.Prefix
	routes    map[netip.Prefix]netip.Addr
	// rules is the number of rules for source addresses by family; a family without the chain is missing.
	rules map[string]int
	// peer is true if the port of the bridge exists and its flows are installed.
	peer bool
}

// compareManagement compares the management port with the desired state.
func compareManagement(node string, want management, rules map[string]int, v managementView) []finding.Finding {
	var out findings
	object, interfaceName := "node "+node, "interface "+topology.ManagementLink
	if !v.exists {
		out.add(finding.Missing, finding.Management, object, interfaceName, "")
	}
	if !v.peer {
		out.add(finding.Missing, finding.Management, object, "port "+managementPeer+" with its flows", "")
	}
	for _, a := range want.addresses {
		if v.exists && !slices.Contains(v.addresses, a) {
			out.add(finding.Missing, finding.Management, object, fmt.Sprintf("address %s of %s", a, interfaceName), "")
		}
	}
	for _, a := range v.addresses {
		if !slices.Contains(want.addresses, a) {
			out.add(finding.Stale, finding.Management, object, fmt.Sprintf("address %s of %s", a, interfaceName), "")
		}
	}
	for to, via := range want.routes {
		live, exists := v.routes[to]
		switch {
		case !v.exists:
		case !exists:
			out.add(finding.Missing, finding.Management, object, fmt.Sprintf("route to %s", to), "")
		case live != via:
			out.add(finding.Different, finding.Management, object, fmt.Sprintf("route to %s", to), fmt.Sprintf("its next hop is %s instead of %s", live, via))
		}
	}
	for to := range v.routes {
		if _, desired := want.routes[to]; !desired {
			out.add(finding.Stale, finding.Management, object, fmt.Sprintf("route to %s", to), "")
		}
	}
	families := maps.Clone(rules)
	maps.Copy(families, v.rules)
	for family := range families {
		what := fmt.Sprintf("table %s %s of nftables", family, table)
		live, exists := v.rules[family]
		switch {
		case rules[family] > 0 && !exists:
			out.add(finding.Missing, finding.Management, object, what, "")
		case rules[family] == 0 && exists:
			out.add(finding.Stale, finding.Management, object, what, "")
		case live != rules[family]:
			out.add(finding.Different, finding.Management, object, what, fmt.Sprintf("it has %d rules instead of %d", live, rules[family]))
		}
	}
	return out
}

// programView is the state that ovn-controller has programmed, and the rows of the southbound database that determine it.
type programView struct {
	// ids are the external IDs of Open vSwitch's configuration.
	ids map[string]string
	// tunnels are the remote addresses of the bridge's tunnels by port name. peers are the addresses of all other chassis by name.
	tunnels, peers map[string]string
	// bound are the logical ports of the node in the southbound database, by the first bits of the UUID. ports are the logical ports of interfaces.
	bound map[uint32]string
	ports map[string]bool
	// owners are the first bits of the UUIDs of all rows in the southbound database. flows is the number of flows by cookie.
	owners map[uint32]bool
	flows  map[uint32]int
}

// compareProgram finds tunnels and flows without an object, and missing ones. ids is the desired configuration of ovn-controller.
func compareProgram(node string, ids map[string]string, v programView) []finding.Finding {
	var out findings
	object := "node " + node
	for key, want := range ids {
		if live := v.ids[key]; live != want {
			out.add(finding.Different, finding.Ports, object, "external ID "+key+" of the configuration", fmt.Sprintf("it is %q instead of %q", live, want))
		}
	}
	remotes, peers := map[string]bool{}, map[string]bool{}
	for _, address := range v.peers {
		peers[address] = true
	}
	for name, remote := range v.tunnels {
		remotes[remote] = true
		if !peers[remote] {
			out.add(finding.Stale, finding.Tunnels, object, "tunnel "+name+" to "+remote, "no other node has this address")
		}
	}
	for name, address := range v.peers {
		if !remotes[address] {
			out.add(finding.Missing, finding.Tunnels, object, "the tunnel to node "+name+" at "+address, "")
		}
	}
	for id, port := range v.bound {
		switch {
		case !v.ports[port]:
			out.add(finding.Stale, finding.Bindings, northbound.PortObject(port), fmt.Sprintf("the binding of port %q to this node", port), "no interface of Open vSwitch has it")
		case v.flows[id] == 0:
			out.add(finding.Missing, finding.Flows, northbound.PortObject(port), fmt.Sprintf("the flows of logical port %q", port), "")
		}
	}
	for cookie, n := range v.flows {
		if cookie != 0 && !v.owners[cookie] {
			out.add(finding.Stale, finding.Flows, object, fmt.Sprintf("flows with cookie %#x", cookie), fmt.Sprintf("no row of the southbound database has a UUID with this prefix; flows: %d", n))
		}
	}
	return out
}

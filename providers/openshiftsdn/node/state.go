package node

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/vnid"
)

// hostNetwork is the namespace that represents other nodes in policies, as default does.
const hostNetwork = nodereport.Namespace

// local is a pod attached on this node, whether or not the API server has it.
type local struct {
	netpolicy.ID
	UID     string
	Address netip.Addr
	Port    uint32
	Limits  bandwidth.Limits
}

// snapshot has all inputs of the flows at one moment.
type snapshot struct {
	Node          string
	Config        agentconfig.Config
	HostSubnets   []*sdnv1.HostSubnet
	NetNamespaces []*sdnv1.NetNamespace
	Firewalls     []*sdnv1.EgressNetworkPolicy
	Pods          []*corev1.Pod
	Namespaces    []*corev1.Namespace
	Policies      []*networkingv1.NetworkPolicy
	Local         []local
	// Known are the previous VNIDs of namespaces of local pods: they stay in use while a NetNamespace is missing.
	Known map[string]uint32
	// Resolve returns the addresses of a DNS name; none if they are unknown.
	Resolve func(string) []netip.Addr
	// Missing reports whether the name servers return no address for a name.
	Missing func(string) bool
	// Probed returns the state of another node by name.
	Probed func(string) tunnelprobe.State
	// Serving are the egress IPs that this node uses, with their VNIDs.
	Serving map[netip.Addr]uint32
}

// desired is the state that follows from a snapshot.
type desired struct {
	Input flows.Input
	// Problems describe objects that are ignored, at least in part.
	Problems []string
	// Names are the DNS names in egress firewalls.
	Names []string
	// Unresolved are the problems of egress firewall rules for pods on this node whose name has no address.
	Unresolved []objectevents.Problem
	// Lost are the pods of this node whose address its block no longer has.
	Lost []objectevents.Problem
	// Claims are the egress IPs assigned to this node. Probes are the tunnel addresses of other nodes whose egress IPs local pods use.
	Claims []egressip.Claim
	Probes map[string]netip.Addr
}

// desire computes the desired state. It returns an error while the node has no block.
func desire(s snapshot) (desired, error) {
	own, others, refused, err := networksOf(s)
	if err != nil {
		return desired{}, err
	}
	d := desired{Input: flows.Input{
		Mode: flows.Mode(s.Config.Mode), ClusterNetworks: s.Config.Pools(), ServiceNetwork: s.Config.ServiceNetwork, VXLANPort: uint16(s.Config.VXLANPort),
		Address: own.address, Subnet: own.subnet, TunnelMAC: flows.PodMAC(flows.RouterAddress(own.subnet)), Addresses: map[netpolicy.ID][]netip.Addr{},
		Hosts: map[netpolicy.ID]netip.Addr{},
	}}
	d.peers(others, refused)
	d.vnids(s)
	d.pods(s)
	if s.Config.Mode == agentconfig.NetworkPolicy {
		d.policies(s)
	}
	if s.Config.Mode != agentconfig.Subnet {
		d.firewalls(s)
		d.multicast(s)
		d.egressIPs(s)
	}
	slices.Sort(d.Problems)
	return d, nil
}

func (d *desired) problem(format string, args ...any) {
	d.Problems = append(d.Problems, fmt.Sprintf(format, args...))
}

// nodeNetwork is the address and the block of a node.
type nodeNetwork struct {
	address netip.Addr
	subnet  netip.Prefix
}

// networksOf returns the networks of this node and of all others, and the errors of HostSubnets that are not used. It returns an error if the node's own one
// is missing or not used.
func networksOf(s snapshot) (own nodeNetwork, others []hostsubnet.Endpoint, refused map[string]error, err error) {
	all, refused := hostsubnet.Usable(s.HostSubnets, s.Config.Reserved())
	for _, e := range all {
		if e.Subnet.Name == s.Node {
			own = nodeNetwork{e.Address, e.Block}
			continue
		}
		others = append(others, e)
	}
	switch {
	case own.subnet.IsValid():
		return own, others, refused, nil
	case refused[s.Node] != nil:
		return own, others, refused, fmt.Errorf("the node has no block: %w; openshift-sdn-controller reports what to do", refused[s.Node])
	}
	return own, others, refused, fmt.Errorf("the node has no HostSubnet %s with a block yet; openshift-sdn-controller creates it", s.Node)
}

func ownSubnet(s snapshot) (nodeNetwork, error) {
	own, _, _, err := networksOf(s)
	return own, err
}

// peers adds the other nodes and hosts.
func (d *desired) peers(others []hostsubnet.Endpoint, refused map[string]error) {
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		d.problem("%v", refused[name])
	}
	for _, e := range others {
		h := e.Subnet
		p := flows.Peer{Name: h.Name, Address: e.Address, Subnet: e.Block}
		if text, set := h.Annotations[sdnv1.AnnotationFixedVNID]; set {
			id, err := strconv.ParseUint(text, 10, 24)
			if err != nil {
				d.problem("HostSubnet %s: annotation %s is %q, not a VNID of at most %d; the host gets the VNID of each packet", h.Name, sdnv1.AnnotationFixedVNID, text, sdnv1.VNIDLast)
			} else {
				p.FixedVNID = new(uint32(id))
			}
		}
		d.Input.Peers = append(d.Input.Peers, p)
	}
}

// vnids adds the VNIDs of namespaces.
func (d *desired) vnids(s snapshot) {
	d.Input.VNIDs = map[string]uint32{}
	if s.Config.Mode == agentconfig.Subnet {
		return
	}
	maps.Copy(d.Input.VNIDs, s.Known)
	sorted := slices.SortedFunc(slices.Values(s.NetNamespaces), func(a, b *sdnv1.NetNamespace) int { return cmp.Compare(a.Name, b.Name) })
	if s.Config.Mode == agentconfig.NetworkPolicy {
		owners, rest := vnid.Owners(sorted)
		for id, n := range owners {
			d.Input.VNIDs[n.Name] = id
		}
		for _, n := range rest {
			delete(d.Input.VNIDs, n.Name)
			d.problem("NetNamespace %s: netid %d is that of another namespace; pods of %s have no network until it has its own", n.Name, n.NetID, n.Name)
		}
		return
	}
	for _, n := range sorted {
		if vnid.Valid(n) {
			d.Input.VNIDs[n.Name] = n.NetID
		} else {
			d.problem("NetNamespace %s: netname %q and netid %d are not those of a namespace; it is ignored", n.Name, n.NetName, n.NetID)
		}
	}
}

// pods adds the pods of the node, with the VNIDs of their namespaces. A pod without a VNID has no flows, and neither has one whose address lies outside of the
// node's block, because another node may have that address now.
func (d *desired) pods(s snapshot) {
	for _, l := range s.Local {
		if !d.Input.Subnet.Contains(l.Address) {
			d.lost(s, l)
			continue
		}
		id, known := d.Input.VNIDs[l.Namespace]
		if !known && s.Config.Mode != agentconfig.Subnet {
			d.problem("pod %s: its namespace has no NetNamespace; it has no network until openshift-sdn-controller has created it", l.ID)
			continue
		}
		d.Input.Pods = append(d.Input.Pods, flows.Pod{ID: l.ID, Address: l.Address, MAC: flows.PodMAC(l.Address), Port: l.Port, VNID: id, Limits: l.Limits})
	}
}

// lost reports a pod whose address is not one of the node's block.
func (d *desired) lost(s snapshot, l local) {
	message := fmt.Sprintf("node %s has another block now, %s, without the address %s of the pod, which has no network; openshift-sdn-controller evicts it if a controller replaces it, otherwise: kubectl delete pod -n %s %s",
		s.Node, d.Input.Subnet, l.Address, l.Namespace, l.Name)
	d.problem("pod %s: %s", l.ID, message)
	for _, p := range s.Pods {
		if p.Namespace == l.Namespace && p.Name == l.Name && (l.UID == "" || l.UID == string(p.UID)) {
			d.Lost = append(d.Lost, objectevents.Problem{Object: p, Reason: agentconfig.ReasonPodAddressLost, Message: message})
		}
	}
}

// policies adds the policies of namespaces with pods on this node.
func (d *desired) policies(s snapshot) {
	selected, attached := map[string]bool{}, map[netpolicy.ID]local{}
	for _, l := range s.Local {
		selected[l.Namespace], attached[l.ID] = true, l
	}
	blocks := map[string]netip.Prefix{s.Node: d.Input.Subnet}
	for _, p := range d.Input.Peers {
		blocks[p.Name] = p.Subnet
	}
	in := netpolicy.Input{}
	for _, p := range s.Policies {
		if selected[p.Namespace] {
			in.Policies = append(in.Policies, p)
		}
	}
	for _, n := range s.Namespaces {
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: n.Name, Labels: n.Labels})
	}
	for _, p := range s.Pods {
		pod := policyPod(p)
		// The address of a local pod is known before the API server has it.
		if l, ok := attached[pod.ID]; ok && (l.UID == "" || l.UID == string(p.UID)) {
			pod.Addresses = []netip.Addr{l.Address}
		}
		// Another pod may have the address of a pod whose node has lost its block.
		if block, known := blocks[p.Spec.NodeName]; known && !pod.HostNetwork {
			pod.Addresses = slices.DeleteFunc(pod.Addresses, func(a netip.Addr) bool { return !block.Contains(a) })
		}
		in.Pods = append(in.Pods, pod)
		if !pod.HostNetwork && !pod.Ended {
			d.Input.Addresses[pod.ID] = pod.Addresses
		}
	}
	// Peers that select these namespaces include the other nodes.
	for _, peer := range d.Input.Peers {
		for _, ns := range []string{metav1.NamespaceDefault, hostNetwork} {
			id := netpolicy.ID{Namespace: ns, Name: "node " + peer.Name} // no pod can have such a name
			in.Pods = append(in.Pods, netpolicy.Pod{ID: id})
			d.Input.Hosts[id] = flows.RouterAddress(peer.Subnet)
		}
	}
	result := netpolicy.Translate(in)
	d.Input.Policies = result.Policies
	for _, p := range result.Problems {
		d.problem("NetworkPolicy %s: %s: %s", p.Policy, p.Field, p.Detail)
	}
}

// multicast adds the VNIDs in which all namespaces have multicast enabled.
func (d *desired) multicast(s snapshot) {
	enabled := map[uint32]bool{}
	for _, n := range s.NetNamespaces {
		id, used := d.Input.VNIDs[n.Name]
		if !used {
			continue
		}
		before, seen := enabled[id]
		enabled[id] = n.Annotations[sdnv1.AnnotationMulticast] == "true" && (before || !seen)
	}
	for id, on := range enabled {
		if on {
			d.Input.Multicast = append(d.Input.Multicast, id)
		}
	}
}

package nodestate

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Cluster is what is known of the cluster except its nodes and pods. All fields but Blocks may be empty.
type Cluster struct {
	// Agents has the DaemonSets of the agents of all networks.
	Agents map[types.NamespacedName]bool
	// Pools are the pools of pod addresses.
	Pools []Pool
	// Blocks returns the blocks of a node according to its Node object; none for a network that keeps them elsewhere.
	Blocks func(*corev1.Node) []netip.Prefix
	// MTU has the MTU of the interface with the default route, by node.
	MTU map[string]hostmtu.Node
	// Unreachable has a sentence for each node that pods on other nodes cannot reach, Fights the fights of each node, and Hosts a sentence for each node that could
	// not apply the configuration of its host.
	Unreachable map[string]string
	Fights      map[string][]string
	Hosts       map[string]string
}

// AgentsOf returns the DaemonSets of agents for Cluster.Agents.
func AgentsOf(all []provider.Agent) map[types.NamespacedName]bool {
	set := map[types.NamespacedName]bool{}
	for _, a := range all {
		set[types.NamespacedName{Namespace: a.Namespace, Name: a.Name}] = true
	}
	return set
}

// Pool is a pool of pod addresses, of which each node gets a block with HostPrefix bits; 0 for a network without blocks.
type Pool struct {
	CIDR       netip.Prefix
	HostPrefix int
}

// Pools returns the pools of a specification. It skips invalid ones, which the operator refuses.
func Pools(entries []operatorv1.ClusterNetworkEntry) []Pool {
	var pools []Pool
	for _, e := range entries {
		if cidr, err := netip.ParsePrefix(e.CIDR); err == nil {
			pools = append(pools, Pool{CIDR: cidr.Masked(), HostPrefix: int(e.HostPrefix)})
		}
	}
	return pools
}

// HostFailures returns a sentence for each node that could not apply the configuration of its host, for Cluster.Hosts: of several configurations that failed, the
// one whose sentence is first in the alphabet, since a cache lists them in random order.
func HostFailures(all []networkv1.HostNetworkConfig) map[string]string {
	failures := map[string]string{}
	for i := range all {
		for _, h := range all[i].Status.Hosts {
			if h.Node == "" || h.Result != networkv1.Failed && h.Result != networkv1.RolledBack {
				continue
			}
			sentence := "HostNetworkConfig " + all[i].Name + " is not applied (" + string(h.Result) + "): " + h.Message
			if first, exists := failures[h.Node]; !exists || sentence < first {
				failures[h.Node] = sentence
			}
		}
	}
	return failures
}

// Agent is a pod of an agent of the network.
type Agent struct {
	// Namespace and Name are those of its DaemonSet.
	Namespace, Name string
	// Image is the name of the image of its first container without registry and directories, with its tag, or else with a part of its digest.
	Image string
	Ready bool
}

// Pods are the pods of operands on one node. The zero value has none.
type Pods struct {
	agents    []Agent
	waiting   []status.Pod
	addresses []netip.Addr
}

// Add adds a pod, which is not kept. Pods that do not belong to a workload of the operator are skipped, as are those that are being deleted or have ended.
func (c *Cluster) Add(to *Pods, p *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil || p.Labels[manifest.LabelManagedBy] != manifest.ManagedBy || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded {
		return
	}
	observed := status.OfPod(p, false)
	if !observed.Ready {
		observed.Name, observed.Node = p.Namespace+"/"+p.Name, "" // the node is known
		to.waiting = append(to.waiting, observed)
	}
	if c.Agents[types.NamespacedName{Namespace: p.Namespace, Name: owner.Name}] && len(p.Spec.Containers) > 0 {
		to.agents = append(to.agents, Agent{Namespace: p.Namespace, Name: owner.Name, Image: shortImage(p.Spec.Containers[0].Image), Ready: observed.Ready})
	}
	if p.Spec.HostNetwork {
		return
	}
	for _, ip := range p.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			to.addresses = append(to.addresses, address)
		}
	}
}

// digestDigits is the number of digits of a digest that are shown.
const digestDigits = 12

// shortImage returns the name of an image as in Agent.
func shortImage(reference string) string {
	name, digest, _ := strings.Cut(reference[strings.LastIndexByte(reference, '/')+1:], "@")
	if _, hex, ok := strings.Cut(digest, ":"); ok && !strings.Contains(name, ":") {
		name += "@" + hex[:min(len(hex), digestDigits)]
	}
	return name
}

// Node is what is known of a node.
type Node struct {
	State State
	// Why is the cause of the state in a sentence; empty for Ready.
	Why string
	// Blocks are the blocks of addresses of its pods in the order of their addresses; empty if unknown.
	Blocks []string
	// Agents are ordered by namespace and name, and there is one of each DaemonSet.
	Agents []Agent
	// MTU is that of the interface with the default route in bytes; 0 if unknown.
	MTU int
}

// Of returns what is known of a node. pods are those on it; nil means none.
func (c *Cluster) Of(n *corev1.Node, pods *Pods) Node {
	if pods == nil {
		pods = &Pods{}
	}
	slices.SortFunc(pods.waiting, status.BySeverity)
	slices.SortFunc(pods.agents, func(a, b Agent) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), compareReady(a, b), strings.Compare(a.Image, b.Image))
	})
	agents := slices.CompactFunc(pods.agents, func(a, b Agent) bool { return a.Namespace == b.Namespace && a.Name == b.Name })
	node := Node{Blocks: c.blocks(n, pods), Agents: agents, MTU: c.MTU[n.Name].MTU}
	node.State, node.Why = c.state(n, pods)
	return node
}

// compareReady orders the ready pod of a DaemonSet before the other one, which has failed and is being replaced.
func compareReady(a, b Agent) int {
	switch {
	case a.Ready == b.Ready:
		return 0
	case a.Ready:
		return -1
	}
	return 1
}

// blocks returns the blocks of a node according to its object, or else to the addresses of its pods.
func (c *Cluster) blocks(n *corev1.Node, pods *Pods) []string {
	blocks := c.Blocks(n)
	if len(blocks) == 0 {
		for _, a := range pods.addresses {
			blocks = append(blocks, c.blocksOf(a)...)
		}
	}
	slices.SortFunc(blocks, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var texts []string
	for _, b := range slices.Compact(blocks) {
		texts = append(texts, b.String())
	}
	return texts
}

// blocksOf returns the blocks of the pools that contain an address.
func (c *Cluster) blocksOf(address netip.Addr) []netip.Prefix {
	var blocks []netip.Prefix
	for _, pool := range c.Pools {
		if !pool.CIDR.Contains(address) || pool.HostPrefix == 0 {
			continue
		}
		if b, err := address.Prefix(pool.HostPrefix); err == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

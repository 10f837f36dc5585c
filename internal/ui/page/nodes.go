package page

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The states of a node, the most severe first.
const (
	// NodeDown is a node that is not ready.
	NodeDown = "not-ready"
	// NodeAgent is a node on which a pod of the network is not ready.
	NodeAgent = "agent-not-ready"
	// NodeCordoned is a node that gets no new pods.
	NodeCordoned = "cordoned"
	// NodeReady is a node that works.
	NodeReady = "ready"
)

// Nodes are all nodes and the pools of addresses.
type Nodes struct {
	Pools []Pool `json:"pools"`
	// Counts has the number of nodes in each state.
	Counts map[string]int `json:"counts"`
	// Nodes are ordered by name.
	Nodes []Node `json:"nodes"`
	// Notes are sentences about data that could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Pool is a part of the cluster network, of which each node gets a block.
type Pool struct {
	CIDR       string `json:"cidr"`
	HostPrefix int    `json:"hostPrefix"`
	// Blocks is the number of blocks, at most 2^53; Used the number of nodes with a known block.
	Blocks float64 `json:"blocks"`
	Used   int     `json:"used"`
	// Addresses is the number of addresses of a block, at most 2^53; Reserved the number of those that no pod gets, and ReservedFor a sentence about
	// them. Both are empty if unknown.
	Addresses   float64 `json:"addresses"`
	Reserved    int     `json:"reserved,omitempty"`
	ReservedFor string  `json:"reservedFor,omitempty"`
}

// Node is a row of the page.
type Node struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Why is the cause in a sentence; empty for a node that works.
	Why string `json:"why,omitempty"`
	// Blocks are the blocks of addresses of its pods.
	Blocks []string `json:"blocks,omitempty"`
	// Addresses are those of the node itself.
	Addresses []string `json:"addresses,omitempty"`
	Roles     []string `json:"roles,omitempty"`
	Kubelet   string   `json:"kubelet,omitempty"`
	// Agents are the images of the network's agents on the node, without the registry: their versions.
	Agents []string `json:"agents,omitempty"`
	// MTU is that of the interface with the default route, in bytes; 0 if unknown.
	MTU int `json:"mtu,omitempty"`
}

// Nodes returns the page.
func (s Source) Nodes(ctx context.Context) (Nodes, error) {
	seen, err := s.observeNodes(ctx)
	if err != nil {
		return Nodes{}, err
	}
	page := Nodes{Pools: seen.pools, Counts: map[string]int{}, Nodes: make([]Node, 0, len(seen.nodes)), Notes: seen.notes}
	for i := range seen.nodes {
		n := seen.row(&seen.nodes[i])
		page.Counts[n.State]++
		for _, block := range n.Blocks {
			page.count(block)
		}
		page.Nodes = append(page.Nodes, n)
	}
	slices.SortFunc(page.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return page, nil
}

// count adds a block to its pool.
func (p *Nodes) count(block string) {
	b := netip.MustParsePrefix(block)
	for i := range p.Pools {
		if pool := netip.MustParsePrefix(p.Pools[i].CIDR); pool.Contains(b.Addr()) {
			p.Pools[i].Used++
		}
	}
}

// nodesSeen has the objects for pages about nodes.
type nodesSeen struct {
	pools []Pool
	nodes []corev1.Node
	// pods are the pods of the network, by node.
	pods map[string][]*corev1.Pod
	// agents has the pods of Source.Agents.
	agents map[types.NamespacedName]bool
	// spec is the applied specification, carriage how the network carries packets. Both are empty if unknown.
	spec     *operatorv1.NetworkSpec
	carriage provider.Carriage
	mtu      map[string]hostmtu.Node
	notes    []string
}

func (s Source) observeNodes(ctx context.Context) (nodesSeen, error) {
	seen := nodesSeen{pools: []Pool{}, pods: map[string][]*corev1.Pod{}, agents: map[types.NamespacedName]bool{}, spec: &operatorv1.NetworkSpec{}}
	for _, a := range s.Agents {
		seen.agents[types.NamespacedName{Namespace: a.Namespace, Name: a.Name}] = true
	}
	var nodes corev1.NodeList
	if err := s.list(ctx, &nodes); err != nil {
		return seen, fmt.Errorf("list nodes: %w", err)
	}
	seen.nodes = nodes.Items
	if err := seen.network(ctx, s); err != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("the pools are unknown: %v", err))
	}
	var pods corev1.PodList
	if err := s.list(ctx, &pods); err != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("the pods of the network are unknown: %v", err))
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		seen.pods[p.Spec.NodeName] = append(seen.pods[p.Spec.NodeName], p)
	}
	var mtu corev1.ConfigMap
	if err := s.Objects.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: hostmtu.ConfigMap}, &mtu); err == nil {
		if record, err := hostmtu.Decode(mtu.Data, mtu.CreationTimestamp.Time); err == nil {
			seen.mtu = record.Nodes
		}
	}
	return seen, nil
}

// network reads the specification of the network, and what it declares.
func (seen *nodesSeen) network(ctx context.Context, s Source) error {
	spec, err := preview.Cluster{Client: s.Objects, Namespace: s.Namespace}.Spec(ctx)
	if err != nil {
		return err
	}
	seen.spec = spec
	if s.Tracer != nil {
		if tracer := s.Tracer(spec.DefaultNetwork.Type); tracer != nil {
			seen.carriage = tracer.Carries(spec)
		}
	}
	seen.pools = poolsOf(spec.ClusterNetwork, seen.carriage.Reserved)
	return nil
}

// poolsOf returns the pools of a specification. It skips invalid ones, which the operator refuses. reserved is that of a Carriage.
func poolsOf(entries []operatorv1.ClusterNetworkEntry, reserved []string) []Pool {
	pools := []Pool{}
	for _, e := range entries {
		cidr, err := netip.ParsePrefix(e.CIDR)
		if err != nil {
			continue
		}
		p := Pool{CIDR: cidr.Masked().String(), HostPrefix: int(e.HostPrefix)}
		if bits := p.HostPrefix - cidr.Bits(); bits >= 0 && p.HostPrefix > 0 {
			p.Blocks = powerOf2(bits)
			p.reserve(cidr.Addr().BitLen()-p.HostPrefix, reserved, cidr.Addr().Is4())
		}
		pools = append(pools, p)
	}
	return pools
}

// reserve sets the addresses of a block with so many host bits.
func (p *Pool) reserve(bits int, reserved []string, is4 bool) {
	p.Addresses = powerOf2(bits)
	if reserved == nil || bits < 0 {
		return
	}
	p.Reserved = 1 + len(reserved)
	p.ReservedFor = "the first address"
	if is4 {
		p.Reserved++
		p.ReservedFor = "the first and the last address"
	}
	p.ReservedFor += ", and those of " + phrase.Names(reserved, len(reserved))
}

// powerOf2 returns a power of 2, at most 2^53, which JavaScript represents exactly.
func powerOf2(bits int) float64 { return float64(uint64(1) << max(0, min(bits, 53))) }

// row returns the row of a node.
func (seen nodesSeen) row(n *corev1.Node) Node {
	row := Node{Name: n.Name, State: NodeReady, Kubelet: n.Status.NodeInfo.KubeletVersion, MTU: seen.mtu[n.Name].MTU, Blocks: seen.blocks(n)}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			row.Addresses = append(row.Addresses, a.Address)
		}
	}
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			row.Roles = append(row.Roles, role)
		}
	}
	slices.Sort(row.Roles)
	for _, p := range seen.pods[n.Name] {
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && seen.agents[types.NamespacedName{Namespace: p.Namespace, Name: owner.Name}] && len(p.Spec.Containers) > 0 {
			row.Agents = append(row.Agents, shortImage(p.Spec.Containers[0].Image))
		}
	}
	slices.Sort(row.Agents)
	row.Agents = slices.Compact(row.Agents)
	row.State, row.Why = seen.state(n)
	return row
}

// digestDigits is the number of digits of a digest that are shown.
const digestDigits = 12

// shortImage returns the name of an image without its registry and directories, with its tag, or else a part of its digest.
func shortImage(reference string) string {
	name, digest, _ := strings.Cut(reference[strings.LastIndexByte(reference, '/')+1:], "@")
	if _, hex, ok := strings.Cut(digest, ":"); ok && !strings.Contains(name, ":") {
		name += "@" + hex[:min(len(hex), digestDigits)]
	}
	return name
}

// state returns the most severe state of a node with its cause.
func (seen nodesSeen) state(n *corev1.Node) (state, why string) {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return NodeDown, "its kubelet has never reported"
	}
	if c := n.Status.Conditions[i]; c.Status != corev1.ConditionTrue {
		return NodeDown, strings.Trim(c.Reason+": "+c.Message, ": ")
	}
	var waiting []string
	for _, p := range seen.pods[n.Name] {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && !podReady(p) {
			waiting = append(waiting, p.Namespace+"/"+p.Name)
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		return NodeAgent, "pods of the network are not ready: " + strings.Join(waiting, ", ")
	}
	if n.Spec.Unschedulable {
		return NodeCordoned, "it is cordoned"
	}
	return NodeReady, ""
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// blocks returns the blocks of a node according to its object, or else to the addresses of its pods.
func (seen nodesSeen) blocks(n *corev1.Node) []string {
	blocks := networks.Blocks(n)
	if len(blocks) == 0 {
		for _, p := range seen.pods[n.Name] {
			if !p.Spec.HostNetwork {
				blocks = append(blocks, seen.blocksOf(p)...)
			}
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

// blocksOf returns the blocks of the pools that contain the addresses of a pod.
func (seen nodesSeen) blocksOf(p *corev1.Pod) []netip.Prefix {
	var blocks []netip.Prefix
	for _, ip := range p.Status.PodIPs {
		address, err := netip.ParseAddr(ip.IP)
		if err != nil {
			continue
		}
		for _, pool := range seen.pools {
			if !netip.MustParsePrefix(pool.CIDR).Contains(address) || pool.HostPrefix == 0 {
				continue
			}
			if b, err := address.Prefix(pool.HostPrefix); err == nil {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

package page

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Nodes are all nodes and the pools of addresses.
type Nodes struct {
	Pools []Pool `json:"pools"`
	// Counts has the number of nodes in each state.
	Counts map[nodestate.State]int `json:"counts"`
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
	Name  string          `json:"name"`
	State nodestate.State `json:"state"`
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
	page := Nodes{Pools: seen.pools, Counts: map[nodestate.State]int{}, Nodes: make([]Node, 0, len(seen.nodes)), Notes: seen.notes}
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
	// cluster is what the states of nodes depend on.
	cluster nodestate.Cluster
	// spec is the applied specification, carriage how the network carries packets. Both are empty if unknown.
	spec     *operatorv1.NetworkSpec
	carriage provider.Carriage
	notes    []string
}

func (s Source) observeNodes(ctx context.Context) (nodesSeen, error) {
	seen := nodesSeen{pools: []Pool{}, pods: map[string][]*corev1.Pod{}, cluster: nodestate.Cluster{Agents: nodestate.AgentsOf(s.Agents), Blocks: networks.Blocks}, spec: &operatorv1.NetworkSpec{}}
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
			seen.cluster.MTU = record.Nodes
		}
	}
	seen.problems(ctx, s, pods.Items)
	return seen, nil
}

// problems reads what else is known of problems on nodes: connectivity checks, events of agents, and HostNetworkConfigs.
func (seen *nodesSeen) problems(ctx context.Context, s Source, pods []corev1.Pod) {
	unreachable, err := s.unreachable(ctx, pods)
	if err != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("whether pods can reach the nodes is unknown: %v", err))
	}
	seen.cluster.Unreachable = unreachable
	var events corev1.EventList
	if err := s.list(ctx, &events); err != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("repairs on nodes are unknown: %v", err))
	}
	seen.cluster.Fights = fightevents.ByNode(fightevents.Read(events.Items, s.Now()))
	var hosts networkv1.HostNetworkConfigList
	if err := s.list(ctx, &hosts); err != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("the states of host networks are unknown: %v", err))
	}
	seen.cluster.Hosts = nodestate.HostFailures(hosts.Items)
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
	seen.cluster.Pools = nodestate.Pools(spec.ClusterNetwork)
	seen.pools = poolsOf(spec.ClusterNetwork, seen.carriage.Reserved)
	return nil
}

// poolsOf returns the pools of a specification. It skips invalid ones, which the operator refuses. reserved is that of a Carriage.
func poolsOf(entries []operatorv1.ClusterNetworkEntry, reserved []string) []Pool {
	pools := []Pool{}
	for _, known := range nodestate.Pools(entries) {
		p := Pool{CIDR: known.CIDR.String(), HostPrefix: known.HostPrefix}
		if bits := p.HostPrefix - known.CIDR.Bits(); bits >= 0 && p.HostPrefix > 0 {
			p.Blocks = powerOf2(bits)
			p.reserve(known.CIDR.Addr().BitLen()-p.HostPrefix, reserved, known.CIDR.Addr().Is4())
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

// node returns what is known of a node.
func (seen *nodesSeen) node(n *corev1.Node) nodestate.Node {
	var pods nodestate.Pods
	for _, p := range seen.pods[n.Name] {
		seen.cluster.Add(&pods, p)
	}
	return seen.cluster.Of(n, &pods)
}

// row returns the row of a node.
func (seen *nodesSeen) row(n *corev1.Node) Node {
	known := seen.node(n)
	row := Node{Name: n.Name, State: known.State, Why: known.Why, Blocks: known.Blocks, MTU: known.MTU, Addresses: status.NodeAddresses(n), Kubelet: n.Status.NodeInfo.KubeletVersion}
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			row.Roles = append(row.Roles, role)
		}
	}
	slices.Sort(row.Roles)
	for _, a := range known.Agents {
		row.Agents = append(row.Agents, a.Image)
	}
	slices.Sort(row.Agents)
	row.Agents = slices.Compact(row.Agents)
	return row
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

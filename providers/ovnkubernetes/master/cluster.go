package master

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Reasons of events.
const (
	// reasonAddresses: the blocks of a pod's node have no free address.
	reasonAddresses = "AddressesExhausted"
	// reasonBlocks: no block is free for a node.
	reasonBlocks = "BlocksExhausted"
	// reasonLogging: the severities of messages of a namespace are invalid.
	reasonLogging = "InvalidACLLogging"
)

// cluster has the decisions of the master: blocks, addresses, and the resulting rows. It reads objects, and writes nothing.
type cluster struct {
	pools       []nodeblocks.Pool
	objects     *objects
	rows        *northbound.State
	addresses   *addresses
	blocks      map[string][]netip.Prefix
	assignments map[key]assignment
	// waiting are the pods, by node, whose node has no block or no free address.
	waiting map[string]map[key]bool
	// annotate schedules an annotation, which is written after the rows. event records an event.
	annotate func(key, annotation)
	event    func(object runtime.Object, reason, message string)
	requeue  func(key)
	// withoutBlocks are the nodes without a block.
	withoutBlocks []string
	// refused are invalid values of the annotation for messages, by namespace.
	refused map[string]string
}

// assignment is the network of a pod.
type assignment struct {
	uid  types.UID
	node string
	pod  topology.Pod
}

func newCluster(pools []nodeblocks.Pool, o *objects) *cluster {
	var networks []netip.Prefix
	for _, p := range pools {
		networks = append(networks, p.Network.Masked())
	}
	return &cluster{
		pools: pools, objects: o, rows: northbound.NewState(northbound.Cluster{Networks: networks}), addresses: newAddresses(),
		blocks: map[string][]netip.Prefix{}, assignments: map[key]assignment{}, waiting: map[string]map[key]bool{}, refused: map[string]string{},
	}
}

// apply applies changes in order.
func (c *cluster) apply(keys []key) {
	if slices.ContainsFunc(keys, func(k key) bool { return k.kind == nodeKind }) {
		c.assign()
	}
	for _, k := range keys {
		switch k.kind {
		case nodeKind:
			c.node(k)
		case namespaceKind:
			if n := get[corev1.Namespace](c.objects.namespaces, k); n != nil {
				c.rows.SetNamespace(netpolicy.Namespace{Name: n.Name, Labels: n.Labels})
				c.rows.SetMulticast(n.Name, n.Annotations[topology.Multicast] == "true")
				c.logging(n)
			} else {
				c.rows.DeleteNamespace(k.name)
				c.rows.SetMulticast(k.name, false)
				c.rows.SetLogging(k.name, topology.Logging{})
				delete(c.refused, k.name)
			}
		case podKind:
			c.pod(k)
		case serviceKind:
			if s := get[corev1.Service](c.objects.services, k); s != nil {
				c.rows.SetService(northbound.Service{Service: s, Slices: c.objects.slicesOf(k)})
			} else {
				c.rows.DeleteService(netpolicy.ID{Namespace: k.namespace, Name: k.name})
			}
		case policyKind:
			if p := get[networkingv1.NetworkPolicy](c.objects.policies, k); p != nil {
				c.rows.SetPolicy(p)
			} else {
				c.rows.DeletePolicy(netpolicy.ID{Namespace: k.namespace, Name: k.name})
			}
		}
	}
}

// logging sets the severities of a namespace's messages. An invalid annotation is reported by one event.
func (c *cluster) logging(n *corev1.Namespace) {
	value := n.Annotations[topology.ACLLogging]
	l, err := topology.DecodeLogging(value)
	c.rows.SetLogging(n.Name, l)
	if err == nil {
		delete(c.refused, n.Name)
	} else if c.refused[n.Name] != value {
		c.refused[n.Name] = value
		c.event(n, reasonLogging, err.Error())
	}
}

// assign assigns blocks to nodes. The first assignment uses the blocks in annotations. Later ones ignore changes of the annotation.
func (c *cluster) assign() {
	held := map[string][]netip.Prefix{}
	names := c.objects.nodeNames()
	for _, name := range names {
		if held[name] = c.blocks[name]; held[name] != nil {
			continue
		}
		if n := get[corev1.Node](c.objects.nodes, key{kind: nodeKind, name: name}); n != nil && n.Annotations[nodeAnnotation] != "" {
			if blocks, err := topology.DecodeNodeSubnets(n.Annotations[nodeAnnotation]); err == nil {
				held[name] = blocks
			}
		}
	}
	before := c.blocks
	c.blocks, c.withoutBlocks = nodeblocks.Assign(c.pools, held, names)
	for name, blocks := range c.blocks {
		if !slices.Equal(before[name], blocks) {
			c.node(key{kind: nodeKind, name: name})
			for k := range c.waiting[name] {
				c.requeue(k)
			}
		}
	}
}

func (c *cluster) node(k key) {
	n := get[corev1.Node](c.objects.nodes, k)
	if n == nil {
		c.rows.DeleteNode(k.name)
		return
	}
	blocks := c.blocks[n.Name]
	c.rows.SetNode(northbound.Node{Name: n.Name, Blocks: blocks})
	if slices.Contains(c.withoutBlocks, n.Name) {
		c.event(n, reasonBlocks, fmt.Sprintf("node %s has no block for pods: all blocks of the cluster network are in use; add a cluster network, or remove nodes", n.Name))
	}
	if want := topology.EncodeNodeSubnets(blocks); len(blocks) > 0 && n.Annotations[nodeAnnotation] != want {
		c.annotate(k, annotation{n.UID, want})
	}
}

func (c *cluster) pod(k key) {
	p := get[corev1.Pod](c.objects.pods, k)
	old, had := c.assignments[k]
	if had && (p == nil || p.UID != old.uid || ended(p)) {
		c.release(k, old)
	}
	c.wait(k, "")
	id := netpolicy.ID{Namespace: k.namespace, Name: k.name}
	if p == nil || p.Spec.HostNetwork || p.Spec.NodeName == "" || ended(p) {
		c.rows.DeletePod(id)
		return
	}
	blocks := c.blocks[p.Spec.NodeName]
	if len(blocks) == 0 {
		c.wait(k, p.Spec.NodeName)
		c.rows.DeletePod(id)
		return
	}
	one, err := c.networkOf(p, blocks)
	if err != nil {
		c.wait(k, p.Spec.NodeName)
		c.rows.DeletePod(id)
		c.event(p, reasonAddresses, fmt.Sprintf("pod has no address: node %s: %v; delete pods of the node, or add nodes", p.Spec.NodeName, err))
		return
	}
	c.assignments[k] = assignment{p.UID, p.Spec.NodeName, one}
	c.rows.SetPod(rowPod(p, one))
	if live, err := topology.DecodePod(p.Annotations[podAnnotation]); err != nil || !reflect.DeepEqual(live, one) {
		c.annotate(k, annotation{p.UID, one.Encode()})
	}
}

// networkOf returns the network of a pod: the assigned one, that of its annotation, or new addresses.
func (c *cluster) networkOf(p *corev1.Pod, blocks []netip.Prefix) (topology.Pod, error) {
	preferred := c.addresses.held[p.UID]
	if len(preferred) == 0 {
		if live, err := topology.DecodePod(p.Annotations[podAnnotation]); err == nil {
			for _, a := range live.Addresses {
				preferred = append(preferred, a.Addr())
			}
		}
	}
	blocks = familiesOf(preferred, blocks)
	list, err := c.addresses.assign(p.UID, blocks, preferred)
	if err != nil {
		return topology.Pod{}, err
	}
	var out topology.Pod
	for i, b := range blocks {
		a := list[i]
		out.Addresses = append(out.Addresses, netip.PrefixFrom(a, b.Bits()))
		out.Gateways = append(out.Gateways, topology.RouterAddress(b).Addr())
		if i == 0 {
			out.MAC = topology.MAC(a)
		}
	}
	return out, nil
}

// familiesOf returns the blocks of the IP families in which a pod has addresses. A pod that started before the cluster got its second family has no interface
// address in it, and one that started before a family was removed keeps the other. A pod without addresses in any of the current families gets all blocks.
func familiesOf(has []netip.Addr, blocks []netip.Prefix) []netip.Prefix {
	kept := slices.DeleteFunc(slices.Clone(blocks), func(b netip.Prefix) bool {
		return !slices.ContainsFunc(has, func(a netip.Addr) bool { return a.Is4() == b.Addr().Is4() })
	})
	if len(kept) == 0 {
		return blocks
	}
	return kept
}

// release releases the addresses of a pod, and requeues pods of the node that wait for one.
func (c *cluster) release(k key, g assignment) {
	c.addresses.release(g.uid)
	delete(c.assignments, k)
	for waiting := range c.waiting[g.node] {
		c.requeue(waiting)
	}
}

// wait records the node that a pod waits for; none if node is empty.
func (c *cluster) wait(k key, node string) {
	for name, pods := range c.waiting {
		if delete(pods, k); len(pods) == 0 {
			delete(c.waiting, name)
		}
	}
	if node == "" {
		return
	}
	if c.waiting[node] == nil {
		c.waiting[node] = map[key]bool{}
	}
	c.waiting[node][k] = true
}

// ended reports whether a pod's containers have terminated permanently: its addresses are free.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// rowPod returns a pod in the form of package northbound.
func rowPod(p *corev1.Pod, one topology.Pod) northbound.Pod {
	out := northbound.Pod{
		Pod: netpolicy.Pod{ID: netpolicy.ID{Namespace: p.Namespace, Name: p.Name}, Labels: p.Labels, Ports: netpolicy.PortsOf(p)},
		UID: p.UID, Node: p.Spec.NodeName, MAC: one.MAC,
	}
	// The node refuses to attach a pod with invalid limits.
	if limits, err := bandwidth.Read(p.Annotations); err == nil {
		out.Limits = limits
	}
	for _, a := range one.Addresses {
		out.Addresses = append(out.Addresses, a.Addr())
	}
	return out
}

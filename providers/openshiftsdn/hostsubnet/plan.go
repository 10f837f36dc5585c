// Package hostsubnet decides which HostSubnets a cluster needs: a block of the cluster network and a tunnel address for each node, and for external hosts that
// an administrator added. It is pure.
package hostsubnet

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

// Reasons of events.
const (
	// ReasonExhausted: a node waits for a block.
	ReasonExhausted = "SubnetsExhausted"
	// ReasonAddress: a node's address cannot be a tunnel endpoint.
	ReasonAddress = "HostIPUnusable"
	// ReasonInvalid: a stored HostSubnet is invalid.
	ReasonInvalid = "HostSubnetInvalid"
)

// Cluster is the observed state. New does not change the objects.
type Cluster struct {
	Nodes       []*corev1.Node
	HostSubnets []*sdnv1.HostSubnet
	// Pools are the cluster network. Services are the Service CIDRs. A tunnel address must be outside of both.
	Pools    []nodeblocks.Pool
	Services []netip.Prefix
}

// Plan has the required changes, as new objects and copies of existing ones. A block of a deleted HostSubnet becomes free after the deletion: a later plan
// assigns it.
type Plan struct {
	Create, Update, Delete []*sdnv1.HostSubnet
	// Connected are nodes whose condition NetworkUnavailable waits for cloud routes, which this network does not need.
	Connected []*corev1.Node
	// Problems are errors in objects, and waiting nodes.
	Problems []Problem
	// Waiting are the names of nodes and hosts without a block because all are in use. The first one gets the next free block.
	Waiting []string
}

// Problem is an error in an object.
type Problem struct {
	Object runtime.Object
	// Reason is one of the constants of this package. Message is a sentence.
	Reason, Message string
}

// planner is the state of New.
type planner struct {
	Cluster
	Plan
	nodes   map[string]*corev1.Node
	subnets map[string]*sdnv1.HostSubnet
	// deleted are the names of HostSubnets in Delete.
	deleted  map[string]bool
	used     nodeblocks.Set
	requests []request
}

// request is a request for a block.
type request struct {
	// created is when the node began to wait.
	created time.Time
	object  runtime.Object
	subnet  *sdnv1.HostSubnet
	// isNew is true if the HostSubnet does not exist. changed is true if it needs an update even without a block.
	isNew, changed bool
}

// New returns the required changes.
func New(c Cluster) Plan {
	p := &planner{Cluster: c, nodes: map[string]*corev1.Node{}, subnets: map[string]*sdnv1.HostSubnet{}, deleted: map[string]bool{}}
	for _, n := range c.Nodes {
		p.nodes[n.Name] = n
	}
	p.HostSubnets = slices.SortedFunc(slices.Values(c.HostSubnets), func(a, b *sdnv1.HostSubnet) int { return older(a, b) })
	p.Nodes = slices.SortedFunc(slices.Values(c.Nodes), func(a, b *corev1.Node) int { return older(a, b) })
	for _, s := range p.HostSubnets {
		p.subnets[s.Name] = s
		p.stored(s)
	}
	owners := p.owners()
	for _, s := range p.HostSubnets {
		if !p.deleted[s.Name] && s.Host == s.Name {
			p.existing(s, owners)
		}
	}
	for _, n := range p.Nodes {
		if p.subnets[n.Name] == nil {
			p.missing(n, owners)
		}
	}
	p.assign()
	return p.Plan
}

func older(a, b metav1.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

func (p *planner) problem(o runtime.Object, reason, format string, args ...any) {
	p.Problems = append(p.Problems, Problem{o, reason, fmt.Sprintf(format, args...)})
}

func (p *planner) remove(s *sdnv1.HostSubnet) {
	p.deleted[s.Name] = true
	p.Delete = append(p.Delete, s)
}

// stored validates a HostSubnet, and decides whether it is deleted.
func (p *planner) stored(s *sdnv1.HostSubnet) {
	uid, node := s.Annotations[sdnv1.AnnotationNodeUID], p.nodes[s.Name]
	block, readable := blockOf(s)
	unique := !readable || p.used.Add(block)
	if s.Host != s.Name {
		p.problem(s, ReasonInvalid, "host %q is not the name of the object: it is ignored; create a HostSubnet of that name and delete this one", s.Host)
		return
	}
	if text, found := s.Annotations[sdnv1.AnnotationFixedVNID]; found {
		if n, err := strconv.ParseUint(text, 10, 32); err != nil || n > uint64(sdnv1.VNIDLast) {
			p.problem(s, ReasonInvalid, "annotation %s is %q: write a VNID from 0 to %d", sdnv1.AnnotationFixedVNID, text, sdnv1.VNIDLast)
		}
	}
	if uid != "" && (node == nil || string(node.UID) != uid) {
		p.remove(s)
		return
	}
	if s.Subnet != "" && (!readable || !unique) {
		if node != nil {
			p.remove(s) // the node gets another block, since it cannot use this one
			return
		}
		fault := faultNetwork
		if readable {
			fault = faultOverlap
		}
		p.problem(s, ReasonInvalid, "subnet %q %s: delete this HostSubnet, and create it with another subnet", s.Subnet, fault)
		return
	}
	if readable && !slices.ContainsFunc(p.Pools, func(pool nodeblocks.Pool) bool {
		return block.Bits() >= pool.Network.Bits() && pool.Network.Contains(block.Addr())
	}) {
		p.problem(s, ReasonInvalid, "subnet %s is outside of the cluster network: pods of other nodes do not reach it; to get another one, delete this HostSubnet", s.Subnet)
	}
}

// existing updates the HostSubnet of a node or of an external host.
func (p *planner) existing(s *sdnv1.HostSubnet, owners map[netip.Addr]string) {
	node := p.nodes[s.Name]
	ip, uid := s.HostIP, s.Annotations[sdnv1.AnnotationNodeUID]
	if node != nil {
		if address, ok := p.address(node, owners); ok {
			ip = address.String()
		}
		uid = string(node.UID)
		p.connect(node)
	} else {
		p.host(s, owners)
	}
	assign, requested := s.Annotations[sdnv1.AnnotationAssignSubnet]
	waits := s.Subnet == "" && (node != nil || requested && assign != "false")
	if s.Subnet == "" && !waits {
		p.problem(s, ReasonInvalid, "it has no subnet: delete it, and create it with a subnet or with the annotation %s: \"true\"", sdnv1.AnnotationAssignSubnet)
	}
	changed := ip != s.HostIP || uid != s.Annotations[sdnv1.AnnotationNodeUID]
	if !waits && !changed {
		return
	}
	desired := s.DeepCopy()
	desired.HostIP = ip
	if uid != "" {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, sdnv1.AnnotationNodeUID, uid)
	}
	if waits {
		p.requests = append(p.requests, request{created: s.CreationTimestamp.Time, object: s, subnet: desired, changed: changed})
		return
	}
	p.Update = append(p.Update, desired)
}

// missing requests a HostSubnet for a node without one.
func (p *planner) missing(n *corev1.Node, owners map[netip.Addr]string) {
	address, ok := p.address(n, owners)
	if !ok {
		return
	}
	s := &sdnv1.HostSubnet{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Annotations: map[string]string{sdnv1.AnnotationNodeUID: string(n.UID)}},
		Host:       n.Name, HostIP: address.String(),
	}
	p.requests = append(p.requests, request{created: n.CreationTimestamp.Time, object: n, subnet: s, isNew: true})
}

// connect marks a node that waits for a cloud route.
func (p *planner) connect(n *corev1.Node) {
	if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue && c.Reason == "NoRouteCreated"
	}) {
		p.Connected = append(p.Connected, n)
	}
}

// assign assigns blocks, to the longest-waiting node first.
func (p *planner) assign() {
	slices.SortFunc(p.requests, func(a, b request) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.subnet.Name, b.subnet.Name))
	})
	for _, r := range p.requests {
		var block netip.Prefix
		ok := len(p.Waiting) == 0
		if ok {
			block, ok = nodeblocks.First(p.Pools, r.subnet.Name, &p.used)
		}
		if !ok {
			p.Waiting = append(p.Waiting, r.subnet.Name)
			if r.changed {
				p.Update = append(p.Update, r.subnet)
			}
			if len(p.Delete) == 0 { // otherwise a block becomes free at once
				p.problem(r.object, ReasonExhausted, "all blocks of the cluster network are in use: %s has none, and its pods do not start; remove a node, or add nodes with a larger hostPrefix in a new cluster", r.subnet.Name)
			}
			continue
		}
		p.used.Add(block)
		r.subnet.Subnet = block.String()
		if r.isNew {
			p.Create = append(p.Create, r.subnet)
		} else {
			p.Update = append(p.Update, r.subnet)
		}
	}
}

package hostsubnet_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
)

// at is a time in minutes.
func at(minute int) metav1.Time { return metav1.Unix(int64(minute)*60, 0) }

func node(name string, created int, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: at(created)}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

// subnet is a HostSubnet; annotations are written KEY=VALUE with the part of the key after the slash.
func subnet(name string, created int, ip, block string, annotations ...string) *sdnv1.HostSubnet {
	s := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(created)}, Host: name, HostIP: ip, Subnet: block}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "pod.network.openshift.io/"+key, value)
	}
	return s
}

func of(n string) string { return "node-uid=uid-" + n }

// text is a plan in one line each: what happens to which HostSubnet, with * for the block, which depends on a hash of the name.
func text(p hostsubnet.Plan, before []*sdnv1.HostSubnet) []string {
	var out []string
	for _, s := range p.Create {
		out = append(out, fmt.Sprintf("create %s %s uid=%s", s.Name, s.HostIP, s.Annotations[sdnv1.AnnotationNodeUID]))
	}
	for _, s := range p.Update {
		old := before[slices.IndexFunc(before, func(o *sdnv1.HostSubnet) bool { return o.Name == s.Name })]
		line := "update " + s.Name
		if s.HostIP != old.HostIP {
			line += " hostIP=" + s.HostIP
		}
		if s.Subnet != old.Subnet {
			line += " subnet=*"
		}
		if uid := s.Annotations[sdnv1.AnnotationNodeUID]; uid != old.Annotations[sdnv1.AnnotationNodeUID] {
			line += " uid=" + uid
		}
		out = append(out, line)
	}
	for _, s := range p.Delete {
		out = append(out, "delete "+s.Name)
	}
	for _, n := range p.Connected {
		out = append(out, "connected "+n.Name)
	}
	for _, problem := range p.Problems {
		name := problem.Object.(metav1.Object).GetName()
		out = append(out, fmt.Sprintf("%s %s: %s", problem.Reason, name, problem.Message[:strings.IndexAny(problem.Message+":", ":;")]))
	}
	if len(p.Waiting) > 0 {
		out = append(out, "waiting "+strings.Join(p.Waiting, " "))
	}
	slices.Sort(out)
	return out
}

func TestPlan(t *testing.T) {
	unroutable := node("a", 1, "192.0.2.1")
	unroutable.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"}}
	misnamed := subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a"))
	misnamed.Host = "b"
	const three = "10.128.0.0/21" // of three blocks that can be given out
	for _, test := range []struct {
		reason   string
		pool     string
		nodes    []*corev1.Node
		subnets  []*sdnv1.HostSubnet
		requests []string
	}{
		{reason: "a new node gets a block, with the UID of its Node", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			requests: []string{"create a 192.0.2.1 uid=uid-a"}},
		{reason: "a settled cluster needs nothing", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a"))}},
		{reason: "the first block of a pool is not given out, but a node of OpenShift keeps it", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.0.0/23", of("a"))}},
		{reason: "a node that has no address yet waits, and that is no problem", nodes: []*corev1.Node{node("a", 1)}},
		{reason: "addresses of other families, of pods and of Services are passed over", nodes: []*corev1.Node{node("a", 1, "2001:db8::1", "10.128.4.1", "10.96.0.1", "192.0.2.1")},
			requests: []string{"create a 192.0.2.1 uid=uid-a"}},
		{reason: "a node with an address of the pods alone has none", nodes: []*corev1.Node{node("a", 1, "10.128.4.1")},
			requests: []string{"HostIPUnusable a: InternalIP 10.128.4.1 lies in the cluster network or the Service CIDR"}},
		{reason: "a node with IPv6 alone has none", nodes: []*corev1.Node{node("a", 1, "2001:db8::1")},
			requests: []string{"HostIPUnusable a: the node has no IPv4 InternalIP, which OpenShiftSDN needs"}},

		{reason: "a changed address changes hostIP alone", nodes: []*corev1.Node{node("a", 1, "192.0.2.9")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a"))},
			requests: []string{"update a hostIP=192.0.2.9"}},
		{reason: "two nodes that exchanged addresses", nodes: []*corev1.Node{node("a", 1, "192.0.2.2"), node("b", 1, "192.0.2.1")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a")), subnet("b", 1, "192.0.2.2", "10.128.4.0/23", of("b"))},
			requests: []string{"update a hostIP=192.0.2.2", "update b hostIP=192.0.2.1"}},
		{reason: "a node that takes the address which another one leaves", nodes: []*corev1.Node{node("a", 1, "192.0.2.2"), node("b", 1, "192.0.2.3")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a")), subnet("b", 1, "192.0.2.2", "10.128.4.0/23", of("b"))},
			requests: []string{"update a hostIP=192.0.2.2", "update b hostIP=192.0.2.3"}},
		{reason: "an address stays with the node that has it", nodes: []*corev1.Node{node("a", 5, "192.0.2.2"), node("b", 9, "192.0.2.2")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a")), subnet("b", 2, "192.0.2.2", "10.128.4.0/23", of("b"))},
			requests: []string{"HostIPUnusable a: InternalIP 192.0.2.2 is the address of b, which had it first"}},
		{reason: "of two new nodes the older one gets the address", nodes: []*corev1.Node{node("a", 5, "192.0.2.2"), node("b", 3, "192.0.2.2")},
			requests: []string{"HostIPUnusable a: InternalIP 192.0.2.2 is the address of b, which had it first", "create b 192.0.2.2 uid=uid-b"}},
		{reason: "a node does not take the address of a host that an administrator added", nodes: []*corev1.Node{node("a", 1, "192.0.2.2")},
			subnets:  []*sdnv1.HostSubnet{subnet("f5", 9, "192.0.2.2", "10.128.2.0/23")},
			requests: []string{"HostIPUnusable a: InternalIP 192.0.2.2 is the address of f5, which had it first"}},

		{reason: "a Node of the same name with another UID: deleted now, created by the next plan", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", "node-uid=old")},
			requests: []string{"delete a"}},
		{reason: "the Node is deleted", subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a"))}, requests: []string{"delete a"}},
		{reason: "a host of an administrator stays", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "10.128.2.0/23")}},
		{reason: "one of the name of a node becomes the node's", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23")}, requests: []string{"update a uid=uid-a"}},
		{reason: "a host asks for a block", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "", "assign-subnet=true", "fixed-vnid-host=0")}, requests: []string{"update f5 subnet=*"}},
		{reason: "a host has a block and still asks", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "10.128.2.0/23", "assign-subnet=true")}},
		{reason: "a host without a block that does not ask", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "")},
			requests: []string{"HostSubnetInvalid f5: it has no subnet"}},
		{reason: "the HostSubnet of a node lost its block", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "", of("a"))}, requests: []string{"update a subnet=*"}},

		{reason: "a host that is not named as its object", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")}, subnets: []*sdnv1.HostSubnet{misnamed},
			requests: []string{`HostSubnetInvalid a: host "b" is not the name of the object`}},
		{reason: "fixed-vnid-host is no VNID", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "10.128.2.0/23", "fixed-vnid-host=16777216")},
			requests: []string{"HostSubnetInvalid f5: annotation pod.network.openshift.io/fixed-vnid-host is \"16777216\""}},
		{reason: "hostIP of a host is no address", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "999.0.2.1", "10.128.2.0/23")},
			requests: []string{`HostSubnetInvalid f5: hostIP "999.0.2.1" is no IPv4 address`}},
		{reason: "hostIP of a host lies in the pools", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "10.128.9.1", "10.128.2.0/23")},
			requests: []string{"HostSubnetInvalid f5: hostIP 10.128.9.1 lies in the cluster network or the Service CIDR"}},
		{reason: "two hosts with one address", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "10.128.2.0/23"), subnet("f6", 2, "192.0.2.1", "10.128.4.0/23")},
			requests: []string{"HostSubnetInvalid f6: hostIP 192.0.2.1 is the address of f5, which had it first"}},
		{reason: "a subnet outside of the pools", subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.1", "172.16.0.0/23")},
			requests: []string{"HostSubnetInvalid f5: subnet 172.16.0.0/23 is outside of the cluster network"}},
		{reason: "a host with the block of a node: the node keeps it", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a")), subnet("f5", 2, "192.0.2.5", "10.128.3.0/24")},
			requests: []string{`HostSubnetInvalid f5: subnet "10.128.3.0/24" overlaps the block of an older HostSubnet, which keeps it`}},
		{reason: "two nodes with one block: the second one gets another", nodes: []*corev1.Node{node("a", 1, "192.0.2.1"), node("b", 1, "192.0.2.2")},
			subnets:  []*sdnv1.HostSubnet{subnet("a", 5, "192.0.2.1", "10.128.2.0/23", of("a")), subnet("b", 2, "192.0.2.2", "10.128.2.0/23", of("b"))},
			requests: []string{"delete a"}},
		{reason: "a node with a subnet that cannot be read", nodes: []*corev1.Node{node("a", 1, "192.0.2.1")},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.1/23", of("a"))}, requests: []string{"delete a"}},

		{reason: "blocks go to those that have waited longest", pool: three,
			nodes:   []*corev1.Node{node("a", 4, "192.0.2.1"), node("b", 3, "192.0.2.2"), node("c", 2, "192.0.2.3")},
			subnets: []*sdnv1.HostSubnet{subnet("f5", 1, "192.0.2.5", "10.128.2.0/23"), subnet("f6", 3, "192.0.2.6", "", "assign-subnet=true")},
			requests: []string{"SubnetsExhausted a: all blocks of the cluster network are in use", "SubnetsExhausted f6: all blocks of the cluster network are in use",
				"create b 192.0.2.2 uid=uid-b", "create c 192.0.2.3 uid=uid-c", "waiting f6 a"}},
		{reason: "no block is left, but one becomes free now: no event", pool: "10.128.0.0/22", nodes: []*corev1.Node{node("a", 4, "192.0.2.1")},
			subnets:  []*sdnv1.HostSubnet{subnet("gone", 1, "192.0.2.5", "10.128.2.0/23", of("gone"))},
			requests: []string{"delete gone", "waiting a"}},
		{reason: "a node waits for routes of a cloud", nodes: []*corev1.Node{unroutable},
			subnets: []*sdnv1.HostSubnet{subnet("a", 1, "192.0.2.1", "10.128.2.0/23", of("a"))}, requests: []string{"connected a"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			pool := test.pool
			if pool == "" {
				pool = "10.128.0.0/14"
			}
			plan := hostsubnet.New(hostsubnet.Cluster{Nodes: test.nodes, HostSubnets: test.subnets,
				Pools: []nodeblocks.Pool{{Network: netip.MustParsePrefix(pool), Length: 23}}, Services: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")}})
			if diff := cmp.Diff(test.requests, text(plan, test.subnets)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBlocksNeverOverlap creates, deletes and recreates nodes, and carries out one part of each plan only, as a controller that is killed.
func TestBlocksNeverOverlap(t *testing.T) {
	c := hostsubnet.Cluster{Pools: []nodeblocks.Pool{{Network: netip.MustParsePrefix("10.128.0.0/19"), Length: 23}, {Network: netip.MustParsePrefix("10.129.0.0/24"), Length: 26}}}
	blocks := map[string]string{}
	for step := range 400 {
		name := fmt.Sprint("n", step*7%23)
		switch i := slices.IndexFunc(c.Nodes, func(n *corev1.Node) bool { return n.Name == name }); {
		case i < 0:
			n := node(name, step, fmt.Sprintf("192.0.2.%d", step*7%23+1))
			n.UID = types.UID(fmt.Sprint("uid-", step))
			c.Nodes = append(c.Nodes, n)
		default:
			c.Nodes = slices.Delete(c.Nodes, i, i+1)
		}
		for round := range 3 {
			plan := hostsubnet.New(c)
			for i, s := range plan.Create {
				if round > 0 || i%2 == step%2 {
					s.CreationTimestamp = at(step)
					c.HostSubnets = append(c.HostSubnets, s)
				}
			}
			for i, s := range plan.Delete {
				if round > 0 || i%2 == step%2 {
					c.HostSubnets = slices.DeleteFunc(c.HostSubnets, func(o *sdnv1.HostSubnet) bool { return o.Name == s.Name })
				}
			}
		}
		if rest := hostsubnet.New(c); len(rest.Create)+len(rest.Update)+len(rest.Delete) > 0 {
			t.Fatalf("step %d: the plan is not settled: %+v", step, rest)
		}
		var used nodeblocks.Set
		now := map[string]string{}
		for _, s := range c.HostSubnets {
			if !used.Add(netip.MustParsePrefix(s.Subnet)) {
				t.Fatalf("step %d: %s overlaps another block", step, s.Subnet)
			}
			key := s.Name + s.Annotations[sdnv1.AnnotationNodeUID]
			if before := blocks[key]; before != "" && before != s.Subnet {
				t.Fatalf("step %d: node %s had %s and has %s", step, s.Name, before, s.Subnet)
			}
			now[key] = s.Subnet
		}
		blocks = now
	}
}

func BenchmarkFiveThousandNodes(b *testing.B) {
	c := hostsubnet.Cluster{Pools: []nodeblocks.Pool{{Network: netip.MustParsePrefix("10.0.0.0/8"), Length: 24}}}
	for i := range 5000 {
		c.Nodes = append(c.Nodes, node(fmt.Sprint("node-", i), i, netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}).String()))
	}
	b.Run("from empty", func(b *testing.B) {
		for b.Loop() {
			if plan := hostsubnet.New(c); len(plan.Create) != 5000 {
				b.Fatal(len(plan.Create))
			}
		}
	})
	c.HostSubnets = hostsubnet.New(c).Create
	b.Run("settled", func(b *testing.B) {
		for b.Loop() {
			if plan := hostsubnet.New(c); len(plan.Create)+len(plan.Update) != 0 {
				b.Fatal(plan)
			}
		}
	})
}

package northbound_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// world is a cluster's northbound database with real servers.
type world struct {
	*ovntest.Central
	t  *testing.T
	in northbound.Input
}

func start(t *testing.T, in northbound.Input) *world {
	t.Helper()
	w := &world{Central: ovntest.Start(t), t: t, in: in}
	w.fill()
	return w
}

func (w *world) fill() {
	w.t.Helper()
	if err := fill(w.t.Context(), w.NorthboundSocket(), w.in); err != nil {
		w.t.Fatal(err)
	}
	w.Realize()
}

// fill reconciles the northbound database at a Unix socket with the rows of an input, and triggers ovn-northd.
func fill(ctx context.Context, socket string, in northbound.Input) error {
	client, err := ovsdb.Dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("connect to the northbound database: %w", err)
	}
	defer func() { _ = client.Close() }() // all requests have completed
	schema, have, err := ovsdb.Load(ctx, client, northbound.Database, northbound.Tables())
	if err != nil {
		return err
	}
	rows, _ := northbound.Rows(in)
	operations, err := ovsdb.Plan(schema, northbound.Owner, rows, have)
	if err != nil {
		return err
	}
	for retried := false; ; retried = true {
		results, err := client.Transact(ctx, northbound.Database, ovsdb.Select("NB_Global", []string{"_uuid"}))
		if err != nil {
			return fmt.Errorf("read the northbound database: %w", err)
		}
		exists := len(results[0].Rows) > 0
		_, err = client.Transact(ctx, northbound.Database, append(slices.Clone(operations), northbound.Global(exists)...)...)
		var refused *ovsdb.OperationError
		if !exists && !retried && errors.As(err, &refused) && refused.Code == "constraint violation" {
			continue // ovn-northd has just inserted the row of the table
		}
		if err != nil {
			return fmt.Errorf("write the northbound database: %w", err)
		}
		return nil
	}
}

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// pod is the n-th pod of the n-th block of a node.
func pod(node northbound.Node, namespace, name string, n int, labels map[string]string) northbound.Pod {
	p := northbound.Pod{Pod: netpolicy.Pod{ID: netpolicy.ID{Namespace: namespace, Name: name}, Labels: labels}, UID: types.UID("uid-" + name), Node: node.Name}
	for _, b := range node.Blocks {
		a := topology.ManagementAddress(b).Addr()
		for range n {
			a = a.Next()
		}
		p.Addresses = append(p.Addresses, a)
	}
	p.MAC = topology.MAC(p.Addresses[0])
	return p
}

// nodes of both families, whose blocks have different lengths.
var (
	node1 = northbound.Node{Name: "node1", Blocks: prefixes("10.128.2.0/23", "fd01:0:0:1::/64")}
	node2 = northbound.Node{Name: "node2", Blocks: prefixes("10.129.7.0/24", "fd01:0:0:2::/64")}
)

// four and six stand for the IP families.
var four, six = netip.IPv4Unspecified(), netip.IPv6Unspecified()

func cluster() northbound.Input { return clusterOf(four, six) }

// clusterOf is a cluster with IP families in their order.
func clusterOf(families ...netip.Addr) northbound.Input {
	in := func(n northbound.Node) northbound.Node {
		var blocks []netip.Prefix
		for _, f := range families {
			blocks = append(blocks, block(n, f))
		}
		return northbound.Node{Name: n.Name, Blocks: blocks}
	}
	var networks []netip.Prefix
	for _, f := range families {
		networks = append(networks, block(northbound.Node{Blocks: prefixes("10.128.0.0/14", "fd01::/48")}, f))
	}
	one, two := in(node1), in(node2)
	return northbound.Input{
		Cluster: northbound.Cluster{Networks: networks},
		Nodes:   []northbound.Node{one, two, {Name: "without"}},
		Namespaces: []netpolicy.Namespace{
			{Name: "one", Labels: map[string]string{"team": "a"}}, {Name: "two", Labels: map[string]string{"team": "b"}},
		},
		Pods: []northbound.Pod{pod(one, "one", "a", 1, nil), pod(one, "one", "b", 2, nil), pod(two, "two", "c", 1, nil)},
	}
}

// block is a node's block of an IP family.
func block(n northbound.Node, like netip.Addr) netip.Prefix {
	i := slices.IndexFunc(n.Blocks, func(b netip.Prefix) bool { return b.Addr().Is4() == like.Is4() })
	return n.Blocks[i]
}

// packet is what a pod, or a node's management port, sends.
type packet struct {
	from     string // port
	node     string
	mac      string
	src, dst netip.Addr
	protocol string
	port     int
}

func (w *world) from(p northbound.Pod, like netip.Addr) packet {
	return packet{from: topology.PodPort(p.Namespace, p.Name), node: p.Node, mac: p.MAC.String(), src: address(p, like)}
}

func address(p northbound.Pod, like netip.Addr) netip.Addr {
	i := slices.IndexFunc(p.Addresses, func(a netip.Addr) bool { return a.Is4() == like.Is4() })
	return p.Addresses[i]
}

// send follows a packet to a destination: to its port on the same switch, else to the router.
func (w *world) send(p packet) ([]string, string) {
	w.t.Helper()
	var node northbound.Node
	for _, n := range w.in.Nodes {
		if n.Name == p.node {
			node = n
		}
	}
	router := topology.MAC(topology.RouterAddress(node.Blocks[0]).Addr()).String()
	to := router
	for _, other := range w.in.Pods {
		if other.Node == p.node && slices.Contains(other.Addresses, p.dst) {
			to = other.MAC.String()
		}
	}
	for _, b := range node.Blocks {
		if m := topology.ManagementAddress(b).Addr(); m == p.dst {
			to = topology.MAC(topology.ManagementAddress(node.Blocks[0]).Addr()).String()
		}
	}
	ip := "ip4"
	if p.dst.Is6() {
		ip = "ip6"
	}
	flow := fmt.Sprintf("inport==%q && eth.src==%s && eth.dst==%s && %s.src==%s && %s.dst==%s && ip.ttl==64", p.from, p.mac, to, ip, p.src, ip, p.dst)
	switch p.protocol {
	case "", "icmp":
		flow += " && icmp" + map[bool]string{true: "4.type==8", false: "6.type==128"}[p.dst.Is4()]
	default:
		flow += fmt.Sprintf(" && %s.src==40000 && %s.dst==%d", p.protocol, p.protocol, p.port)
	}
	return w.Trace("--ct=new", "--ct=new", "--ct=new", "--ct=new", p.node, flow)
}

func TestPodsReachPodsNodesAndExternalHosts(t *testing.T) {
	for why, families := range map[string][]netip.Addr{"IPv4 first": {four, six}, "IPv6 first": {six, four}, "IPv6 alone": {six}} {
		t.Run(why, func(t *testing.T) { reachesEverything(t, families) })
	}
}

func reachesEverything(t *testing.T, families []netip.Addr) {
	w := start(t, clusterOf(families...))
	a, b, c := w.in.Pods[0], w.in.Pods[1], w.in.Pods[2]
	for _, like := range families {
		outside := netip.MustParseAddr("198.51.100.7")
		if like.Is6() {
			outside = netip.MustParseAddr("2001:db8::7")
		}
		other := topology.ManagementAddress(block(node2, like)).Addr()
		own := topology.ManagementAddress(block(node1, like)).Addr()
		forged := w.from(a, like)
		forged.src = address(b, like)
		management := packet{from: "k8s-node1", node: "node1", mac: topology.MAC(topology.ManagementAddress(w.in.Nodes[0].Blocks[0]).Addr()).String(), src: own}
		for _, tt := range []struct {
			reason string
			from   packet
			to     netip.Addr
			want   string
		}{
			{"a pod of the same node", w.from(a, like), address(b, like), "one_b"},
			{"a pod of another node", w.from(a, like), address(c, like), "two_c"},
			{"the node's own management port", w.from(a, like), own, "k8s-node1"},
			{"that of another node", w.from(a, like), other, "k8s-node2"},
			{"an address outside leaves by the pod's node", w.from(a, like), outside, "k8s-node1"},
			{"the same from the other node", w.from(c, like), outside, "k8s-node2"},
			{"the node reaches its pods", management, address(a, like), "one_a"},
			{"and pods of other nodes", management, address(c, like), "two_c"},
			{"a pod cannot use another one's address", forged, address(c, like), ""},
		} {
			tt.from.dst = tt.to
			outputs, full := w.send(tt.from)
			if got := strings.Join(outputs, " "); got != tt.want {
				t.Errorf("%s (%s to %s): the packet leaves by %q, want %q\n%s", tt.reason, tt.from.src, tt.to, got, tt.want, full)
			}
		}
	}
	row := w.Northbound("--bare", "--columns=options", "find", "Logical_Switch_Port", "name=one_a")
	for _, want := range []string{"requested-chassis=node1", "iface-id-ver=uid-a"} {
		if !strings.Contains(row, want) {
			t.Errorf("the port's options lack %s: %s", want, row)
		}
	}
}

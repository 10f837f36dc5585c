package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/netpolicy/netpolicytest"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

const network = "default/lan"

// link is a network with the pods of the table of meanings, each with its interface net1 there, and a host outside.
type link struct {
	t       testing.TB
	kernel  *Kernel
	bridge  netns.Namespace
	pods    map[string]netns.Namespace
	cluster policy.Cluster
	// written are the rules of each pod.
	written map[string]policy.Ruleset
	ports   int
}

func newLink(t testing.TB) *link {
	t.Helper()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, kernel: k, bridge: netns.New(t, "bridge"), pods: map[string]netns.Namespace{}, written: map[string]policy.Ruleset{}}
	l.bridge.Run("ip", "link", "add", "br0", "type", "bridge")
	l.bridge.Run("ip", "link", "set", "br0", "up")
	for n, namespace := range netpolicytest.Namespaces {
		l.cluster.Namespaces = append(l.cluster.Namespaces, netpolicy.Namespace{Name: namespace, Labels: map[string]string{"ns": namespace}})
		for p, name := range netpolicytest.Pods {
			http, admin := uint16(80), uint16(81)
			if name == "c" {
				http, admin = admin, http
			}
			v4 := netip.AddrFrom4([4]byte{10, byte(n), byte(p), 5})
			pod := policy.Pod{Networks: map[string][]netip.Addr{network: {v4, mapped(v4)}}}
			pod.ID, pod.Labels = netpolicy.ID{Namespace: namespace, Name: name}, map[string]string{"pod": name}
			pod.Ports = []netpolicy.NamedPort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: http}, {Name: "admin", Protocol: corev1.ProtocolTCP, Port: admin}}
			l.cluster.Pods = append(l.cluster.Pods, pod)
			l.plug(namespace+"/"+name, v4)
		}
	}
	l.plug("192.0.2.1", netip.MustParseAddr("192.0.2.1"))
	return l
}

// mapped is the IPv6 address that stands for an IPv4 address in tests of both families.
func mapped(a netip.Addr) netip.Addr {
	b := netip.MustParseAddr("fd00::").As16()
	v4 := a.As4()
	copy(b[12:], v4[:])
	return netip.AddrFrom16(b)
}

// plug connects a namespace to the network.
func (l *link) plug(name string, v4 netip.Addr) {
	n := netns.New(l.t, strings.NewReplacer("/", "-", ".", "-").Replace(name))
	l.ports++
	port := fmt.Sprintf("port%d", l.ports)
	l.bridge.Run("ip", "link", "add", port, "type", "veth", "peer", "name", "net1", "netns", n.Name)
	l.bridge.Run("ip", "link", "set", port, "master", "br0", "up")
	n.Run("ip", "link", "set", "net1", "up")
	n.Run("ip", "addr", "add", v4.String()+"/32", "dev", "net1")
	n.Run("ip", "route", "add", "default", "dev", "net1")
	n.Run("ip", "addr", "add", mapped(v4).String()+"/64", "dev", "net1", "nodad")
	l.pods[name] = n
}

// enforce writes the rules of policies into all pods.
func (l *link) enforce(specs ...networkingv1.NetworkPolicySpec) {
	l.t.Helper()
	l.cluster.Policies = nil
	for i, spec := range specs {
		l.cluster.Policies = append(l.cluster.Policies, policy.Policy{
			NetworkPolicy: networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: fmt.Sprint(i)}, Spec: *both(spec)}, Networks: []string{network},
		})
	}
	views := map[string]policy.View{network: l.cluster.View(network)}
	for _, p := range l.cluster.Pods {
		rules, err := policy.Rules(views, p.ID, []policy.Interface{{Name: "net1", Network: network}}, policy.Custom{})
		if err != nil {
			l.t.Fatal(err)
		}
		if rules.String() == l.written[p.String()].String() {
			continue
		}
		if _, err := l.kernel.Apply(l.t.Context(), l.pods[p.String()].Path(), rules); err != nil {
			l.t.Fatalf("%v\n%s", err, rules)
		}
		l.written[p.String()] = rules
	}
}

// both adds to each range of addresses the one of IPv6 that stands for it.
func both(spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicySpec {
	out := spec.DeepCopy()
	for i := range out.Ingress {
		out.Ingress[i].From = bothPeers(out.Ingress[i].From)
	}
	for i := range out.Egress {
		out.Egress[i].To = bothPeers(out.Egress[i].To)
	}
	return out
}

func bothPeers(peers []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	six := func(cidr string) string {
		p := netip.MustParsePrefix(cidr)
		return netip.PrefixFrom(mapped(p.Addr()), p.Bits()+96).String()
	}
	for _, p := range peers {
		if p.IPBlock == nil {
			continue
		}
		block := &networkingv1.IPBlock{CIDR: six(p.IPBlock.CIDR)}
		for _, e := range p.IPBlock.Except {
			block.Except = append(block.Except, six(e))
		}
		peers = append(peers, networkingv1.NetworkPolicyPeer{IPBlock: block})
	}
	return peers
}

// address is that of a pod or of the host outside, of one family.
func (l *link) address(name string, six bool) netip.Addr {
	l.t.Helper()
	a, err := netip.ParseAddr(name)
	for _, p := range l.cluster.Pods {
		if p.String() == name {
			a, err = p.Networks[network][0], nil
		}
	}
	if err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
	if six {
		return mapped(a)
	}
	return a
}

// reached reports whether the packets of a connection arrive, "from to port": no process listens, so that the other end refuses.
func (l *link) reached(connection string, six bool, wait time.Duration) bool {
	l.t.Helper()
	fields := strings.Fields(connection)
	target := net.JoinHostPort(l.address(fields[1], six).String(), fields[2])
	var answer error
	err := ns.WithNetNSPath(l.pods[fields[0]].Path(), func(ns.NetNS) error {
		conn, err := net.DialTimeout("tcp", target, wait)
		if err == nil {
			_ = conn.Close()
		}
		answer = err
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	var timeout net.Error
	switch {
	case answer == nil, errors.Is(answer, syscall.ECONNREFUSED):
		return true
	case errors.As(answer, &timeout) && timeout.Timeout():
		return false
	}
	l.t.Errorf("%s: %v", connection, answer)
	return false
}

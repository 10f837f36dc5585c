package node_test

import (
	"net"
	"net/netip"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// TestPodsTalkOverIPv6 has tunnels between the IPv6 addresses of nodes.
func TestPodsTalkOverIPv6(t *testing.T) {
	four, six := netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/64")
	for _, row := range []struct {
		why, pools, services string
		links                []netip.Prefix
	}{
		{"IPv6 alone", "fd01::/48/64", "fd02::/112", []netip.Prefix{six}},
		{"IPv6 first, on nodes whose first address is of IPv4", "fd01::/48/64," + clusterNetwork + "/23", "fd02::/112," + serviceNetwork, []netip.Prefix{four, six}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.pools, c.services, c.links = row.pools, row.services, row.links
			c.govern()
			one, two := c.nodes[0], c.nodes[1]
			a, b, far := one.governedPod("a"), one.governedPod("b"), two.governedPod("far")
			for _, p := range []*pod{a, b, far} {
				nodetest.Serve(t, p.Namespace, ":8080")
			}
			if endpoints := one.remotes(); endpoints != two.address.String() || !two.address.Is6() {
				t.Fatalf("the tunnels of %s lead to %s", one.name, endpoints)
			}
			podsReachOneAnother(t, a, b, far)
			c.podsReachOutside(t, a, far)
			c.servicesAndHostPorts(t, a, b, far)
			c.policiesApply(t, a, b, far)
			c.agreesWhole("with IPv6 tunnels")
		})
	}
}

// remotes returns the tunnel endpoints of other nodes.
func (m *machine) remotes() string {
	m.t.Helper()
	var found []string
	eventually.Holds(m.t, "there is a tunnel", func() (string, bool) {
		out := netns.Run(m.t, "ovs-vsctl", "--db=unix:"+m.run+"/ovs/db.sock", "--bare", "--columns=options", "find", "Interface", "type=geneve")
		found = regexp.MustCompile(`remote_ip="?([^"\s]+)`).FindStringSubmatch(out)
		return out, found != nil
	})
	return found[1]
}

// at returns the address of a port of a pod, in each IP family that the pod has.
func (p *pod) at(port uint16) []string {
	var out []string
	for _, a := range p.given.Addresses {
		out = append(out, netip.AddrPortFrom(a.Addr(), port).String())
	}
	return out
}

func podsReachOneAnother(t *testing.T, a, b, far *pod) {
	for _, p := range []*pod{b, far} {
		for i, to := range p.given.Addresses {
			nodetest.Reaches(t, a.Namespace, to.Addr(), podMTU)
			if got, want := nodetest.Answers(t, a.Namespace, p.at(8080)[i]), a.given.Addresses[i].Addr().String(); got != want {
				t.Errorf("%s sees %s as the client, which is %s", p.name, got, want)
			}
		}
	}
	for _, m := range a.m.nodes {
		for _, p := range []*pod{a, far} {
			nodetest.Reaches(t, m.at, p.addr(), podMTU)
			nodetest.Answers(t, m.at, p.at(8080)[0])
			nodetest.Reaches(t, p.Namespace, m.address, podMTU)
		}
	}
}

// podsReachOutside: pods leave the cluster with the address of their node, and are reached from outside.
func (c *cluster) podsReachOutside(t *testing.T, a, far *pod) {
	outside := netns.New(t, "outside")
	c.link.Run("ip", "link", "add", "outside", "type", "veth", "peer", "name", "eth0", "netns", outside.Name)
	c.link.Run("ip", "link", "set", "outside", "master", "sw0", "up")
	outside.Run("ip", "link", "set", "eth0", "up")
	nodetest.Serve(t, outside, ":80")
	for i, l := range c.links {
		address := onLink(outside, l, 100)
		for _, p := range []*pod{a, far} {
			if got := nodetest.Answers(t, p.Namespace, netip.AddrPortFrom(address, 80).String()); got != p.m.addresses[i].String() {
				t.Errorf("the server at %s sees %s, the node of the pod is %s", address, got, p.m.addresses[i])
			}
		}
	}
	outside.Run("ip", "route", "add", "fd01::/48", "via", c.nodes[0].address.String())
	if got, want := nodetest.Answers(t, outside, far.at(8080)[0]), topology.ManagementAddress(a.given.Addresses[0]).Addr().String(); got != want {
		t.Errorf("a pod of another node sees %s as the client, the management port of the node through which it answers has %s", got, want)
	}
}

func (c *cluster) servicesAndHostPorts(t *testing.T, a, b, far *pod) {
	const virtual = "fd02::10"
	c.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "web"}, Spec: corev1.ServiceSpec{ExternalIPs: []string{virtual}, Ports: []corev1.ServicePort{{Port: 80}}}})
	c.create(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "web", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv6,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{far.addr().String()}}}, Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
	})
	for _, p := range []*pod{a, b} {
		if got := nodetest.Answers(t, p.Namespace, net.JoinHostPort(virtual, "80")); got != p.addr().String() {
			t.Errorf("the endpoint sees %s as the client, which is %s", got, p.addr())
		}
	}
	if got := nodetest.Answers(t, far.Namespace, net.JoinHostPort(virtual, "80")); got != "fd69::5" {
		t.Errorf("a pod that connects to itself sees %s", got)
	}
	p := a.m.addressed("mapped")
	p.mappings = map[int]int{8080: 30080}
	if err := p.add(); err != nil {
		t.Fatal(err)
	}
	nodetest.Serve(t, p.Namespace, ":8080")
	for _, address := range a.m.addresses {
		nodetest.Answers(t, far.m.at, netip.AddrPortFrom(address, 30080).String())
	}
	p.remove()
}

// refused waits until a pod does not reach an address.
func refused(t *testing.T, from *pod, address string) {
	t.Helper()
	eventually.Holds(t, from.name+" does not reach "+address, func() (string, bool) {
		answer, err := nodetest.Ask(from.Namespace, address, time.Second)
		return answer, err != nil
	})
}

// policiesApply: a policy admits one of two clients, in each family, and the node.
func (c *cluster) policiesApply(t *testing.T, a, b, far *pod) {
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "from-a"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"name": "far"}},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}}}}},
	}})
	for _, address := range far.at(8080) {
		refused(t, b, address)
		nodetest.Answers(t, a.Namespace, address)
		nodetest.Answers(t, far.m.at, address)
	}
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "to-b"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "fd01::/48", Except: []string{far.addr().String() + "/128"}}}}}},
	}})
	refused(t, a, far.at(8080)[0])
	nodetest.Answers(t, a.Namespace, b.at(8080)[0])
}

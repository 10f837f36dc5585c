package node_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/testing/durations"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	// changeSamples is how often each change is made. otherNodes is the number of simulated nodes.
	changeSamples, otherNodes = 30, 500
	probePort                 = 5000
)

// probe sends a datagram each millisecond, and notes when the last one arrived where it is awaited.
type probe struct {
	mu   sync.Mutex
	last time.Time
}

// newProbe returns a probe from a namespace to an address; arrivals are read from a connection.
func newProbe(b *testing.B, from netns.Namespace, to string, arrivals func(sender net.Conn) net.Conn) *probe {
	b.Helper()
	p := &probe{}
	var sender net.Conn
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) (err error) { sender, err = net.Dial("udp", to); return err }); err != nil {
		b.Fatal(err)
	}
	receiver := arrivals(sender)
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for n := uint32(0); ; n++ {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
			_, _ = sender.Write(binary.BigEndian.AppendUint32(nil, n)) // it is refused at times
		}
	})
	running.Go(func() {
		buffer := make([]byte, 2000)
		for {
			_, err := receiver.Read(buffer)
			select {
			case <-ended:
				return
			default:
			}
			if err == nil {
				p.mu.Lock()
				p.last = time.Now()
				p.mu.Unlock()
			}
		}
	})
	b.Cleanup(func() {
		close(ended)
		_, _ = sender.Close(), receiver.Close()
		running.Wait()
	})
	return p
}

// answered returns when a datagram arrived, after a time.
func (p *probe) answered(b *testing.B, after time.Time) time.Time {
	b.Helper()
	for deadline := time.Now().Add(eventually.Limit); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		p.mu.Lock()
		last := p.last
		p.mu.Unlock()
		if last.After(after) {
			return last
		}
	}
	b.Fatal("no datagram has arrived within a minute")
	return time.Time{}
}

// silent waits until no datagram has arrived for a while.
func (p *probe) silent(b *testing.B) {
	b.Helper()
	eventually.Holds(b, "no datagram arrives", func() (string, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.last.String(), time.Since(p.last) > 200*time.Millisecond
	})
}

// watchTimes notes when a bare watch has the versions of objects of a kind.
type watchTimes struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

func (c *cluster) watchTimes(b *testing.B, list client.ObjectList) *watchTimes {
	b.Helper()
	watching, err := client.NewWithWatch(c.api.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := watching.Watch(ctx, list)
	if err != nil {
		b.Fatal(err)
	}
	t := &watchTimes{seen: map[string]time.Time{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if object, ok := event.Object.(client.Object); ok {
				t.mu.Lock()
				t.seen[object.GetResourceVersion()] = time.Now()
				t.mu.Unlock()
			}
		}
	}()
	b.Cleanup(func() { cancel(); w.Stop(); <-ended })
	return t
}

// of returns when the watch had the version of an object.
func (t *watchTimes) of(b *testing.B, object client.Object) (at time.Time) {
	b.Helper()
	eventually.Holds(b, "the watch has the object", func() (string, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		var seen bool
		at, seen = t.seen[object.GetResourceVersion()]
		return "", seen
	})
	return at
}

// measured makes a change that a probe sees and reverts it, and reports the time of the first datagram after the change and of a bare watch.
func measured(b *testing.B, p *probe, w *watchTimes, change func() client.Object, revert func()) {
	b.Helper()
	var packets, watched, after []time.Duration
	for b.Loop() {
		for range changeSamples {
			p.silent(b)
			start := time.Now()
			object := change()
			packet, watch := p.answered(b, start), w.of(b, object)
			packets, watched, after = append(packets, packet.Sub(start)), append(watched, watch.Sub(start)), append(after, packet.Sub(watch))
			revert()
		}
	}
	b.ReportMetric(0, "ns/op")
	durations.Report(b, "packet", packets)
	durations.Report(b, "watch", watched)
	durations.Report(b, "after", after)
}

// patch merges a change into an object.
func (c *cluster) patch(b *testing.B, object client.Object, patch string) {
	b.Helper()
	if err := c.client.Patch(b.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		b.Fatal(err)
	}
}

// echoes has datagrams return to their sender.
func echoes(sender net.Conn) net.Conn { return sender }

// BenchmarkFirstPacket measures from the write of an object until the first packet that it allows arrives, beside a bare watch of the same object.
func BenchmarkFirstPacket(b *testing.B) {
	b.Run("policy", func(b *testing.B) { changedPolicies(b) })
	b.Run("netnamespace", func(b *testing.B) { changedNetNamespace(b) })
	b.Run("node", func(b *testing.B) { joinedNodes(b) })
}

// changedPolicies creates policies for an isolated pod, and changes the label of a client that a policy admits.
func changedPolicies(b *testing.B) {
	c, one, two := running(b, agentconfig.NetworkPolicy)
	server, sender := one.pod("one", "server", nil), two.pod("two", "client", nil)
	echo(b, server.Namespace, fmt.Sprint(":", probePort))
	p := newProbe(b, sender.Namespace, netip.AddrPortFrom(server.address, probePort).String(), echoes)
	p.answered(b, time.Now())
	admits := func(name string, label string) *networkingv1.NetworkPolicy {
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
		if label != "" {
			np.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": label}},
			}}}}
		}
		c.create(np)
		return np
	}
	admits("isolated", "")
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "client"}}
	c.patch(b, object, `{"metadata":{"labels":{"app":"client"}}}`)
	b.Run("created", func(b *testing.B) {
		var np *networkingv1.NetworkPolicy
		measured(b, p, c.watchTimes(b, &networkingv1.NetworkPolicyList{}), func() client.Object { np = admits("admits", "client"); return np }, func() {
			if err := c.client.Delete(b.Context(), np); err != nil {
				b.Fatal(err)
			}
		})
	})
	admits("by-label", "labelled")
	b.Run("label", func(b *testing.B) {
		measured(b, p, c.watchTimes(b, &corev1.PodList{}), func() client.Object { c.patch(b, object, `{"metadata":{"labels":{"app":"labelled"}}}`); return object },
			func() { c.patch(b, object, `{"metadata":{"labels":{"app":"client"}}}`) })
	})
}

// changedNetNamespace joins a namespace to another one.
func changedNetNamespace(b *testing.B) {
	c, one, two := running(b, agentconfig.Multitenant)
	server, sender := one.pod("one", "server", nil), two.pod("two", "client", nil)
	echo(b, server.Namespace, fmt.Sprint(":", probePort))
	p := newProbe(b, sender.Namespace, netip.AddrPortFrom(server.address, probePort).String(), echoes)
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "two"}}
	measured(b, p, c.watchTimes(b, &sdnv1.NetNamespaceList{}), func() client.Object { c.patch(b, n, `{"netid":10}`); return n }, func() { c.patch(b, n, `{"netid":11}`) })
}

// simulated returns the HostSubnet of the i-th simulated node. Its block follows those of the nodes of a test.
func simulated(i int) *sdnv1.HostSubnet {
	name, n := fmt.Sprint("simulated-", i), i+8
	return &sdnv1.HostSubnet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{sdnv1.AnnotationNodeUID: name}}, Host: name,
		HostIP: netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}).String(), Subnet: fmt.Sprintf("10.%d.%d.0/23", 128+n>>7, n<<1&0xff),
	}
}

// joinedNodes creates the HostSubnet of one more node: the first packet for it leaves a node for its address.
func joinedNodes(b *testing.B) {
	c, one, _ := running(b, agentconfig.NetworkPolicy)
	for i := range otherNodes {
		c.create(simulated(i))
	}
	sender := one.pod("one", "client", nil)
	joining := netns.New(b, "joining")
	c.link.Run("ip", "link", "add", "joining", "type", "veth", "peer", "name", "eth0", "netns", joining.Name)
	c.link.Run("ip", "link", "set", "joining", "master", "sw0", "up")
	joining.Run("ip", "address", "add", "192.0.2.200/24", "dev", "eth0")
	joining.Run("ip", "link", "set", "eth0", "up")
	const destination = "10.131.254.9"
	// A pod does not repeat a question for a hardware address as often as the probe sends.
	sender.Run("ip", "neigh", "add", destination, "lladdr", "0a:58:0a:83:fe:09", "dev", "eth0")
	p := newProbe(b, sender.Namespace, fmt.Sprintf("%s:%d", destination, probePort), func(net.Conn) (tunnel net.Conn) {
		if err := ns.WithNetNSPath(joining.Path(), func(ns.NetNS) (err error) {
			tunnel, err = net.ListenUDP("udp4", &net.UDPAddr{Port: one.config.VXLANPort})
			return err
		}); err != nil {
			b.Fatal(err)
		}
		return tunnel
	})
	h := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: "joining", Annotations: map[string]string{sdnv1.AnnotationNodeUID: "joining"}}, Host: "joining", HostIP: "192.0.2.200", Subnet: "10.131.254.0/23"}
	var created *sdnv1.HostSubnet
	measured(b, p, c.watchTimes(b, &sdnv1.HostSubnetList{}), func() client.Object { created = h.DeepCopy(); c.create(created); return created }, func() {
		if err := c.client.Delete(b.Context(), created); err != nil {
			b.Fatal(err)
		}
	})
}

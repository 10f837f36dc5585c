package idling_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/idling"
)

func TestServices(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Annotations: map[string]string{idling.IdledAt: "2026-01-02T15:04:05Z"}},
		Spec: corev1.ServiceSpec{
			ClusterIPs: []string{"172.30.0.10", "fd00::10"}, ExternalIPs: []string{"192.0.2.9"},
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30080}, {Port: 53, Protocol: corev1.ProtocolUDP}},
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.8"}, {Hostname: "a.test"}}}},
	}
	headless := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"None"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}}
	slice := func(family discoveryv1.AddressType, ready *bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: family,
			Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: ready}}}}
	}
	for _, row := range []struct {
		why    string
		slices []*discoveryv1.EndpointSlice
		ready  bool
	}{
		{"no endpoints", nil, false},
		{"one that is ready", []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, new(true))}, true},
		{"one of which that is not known counts as ready", []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, nil)}, true},
		{"one that is not ready", []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, new(false))}, false},
		{"one of the other family", []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv6, new(true))}, false},
	} {
		got := idling.Services([]*corev1.Service{service, headless}, row.slices)
		port := func(a string, protocol corev1.Protocol, n uint16) idling.Port {
			p := idling.Port{Protocol: protocol, Port: n}
			if a != "" {
				p.Address = netip.MustParseAddr(a)
			}
			return p
		}
		want := []idling.Service{
			{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "u", Idled: true, Ready: row.ready, Ports: []idling.Port{
				port("172.30.0.10", corev1.ProtocolTCP, 80), port("192.0.2.9", corev1.ProtocolTCP, 80), port("192.0.2.8", corev1.ProtocolTCP, 80), port("", corev1.ProtocolTCP, 30080),
				port("172.30.0.10", corev1.ProtocolUDP, 53), port("192.0.2.9", corev1.ProtocolUDP, 53), port("192.0.2.8", corev1.ProtocolUDP, 53),
			}},
			{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}},
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

// TestHolder is the life of a Service: at each moment something changes, and its port is held back or not, and pods are asked for or not.
func TestHolder(t *testing.T) {
	port := idling.Port{Address: netip.MustParseAddr("172.30.0.10"), Protocol: corev1.ProtocolTCP, Port: 80}
	type moment struct {
		why          string
		at           time.Duration
		idled, ready bool
		// packet has a packet arrive. held and ask are what is expected; next is when the decision may change, from the beginning.
		packet, held, ask bool
		next              time.Duration
	}
	const s, m = time.Second, time.Minute
	for _, row := range []struct {
		why     string
		moments []moment
	}{
		{"a Service that is not idled", []moment{{"without endpoints", 0, false, false, true, false, false, 0}, {"with endpoints", s, false, true, true, false, false, 0}}},
		{"idled and woken, where marks are removed with the endpoints", []moment{
			{"still has endpoints: what kube-proxy translates is not held back", 0, true, true, true, true, false, 0},
			{"the first packet asks", s, true, false, true, true, true, 0},
			{"a retransmission does not", 3 * s, true, false, true, true, false, 0},
			{"a burst later it does again", 40 * s, true, false, true, true, true, 0},
			{"has endpoints, and the marks", 41 * s, true, true, true, true, false, 0},
			{"the marks are removed: kube-proxy may lag", 42 * s, false, true, true, true, false, 51 * s},
			{"no longer idled", 51 * s, false, true, true, false, false, 0},
			{"without endpoints it is refused as any other", 2 * m, false, false, true, false, false, 0},
		}},
		{"OpenShift removes the marks first", []moment{
			{"asks", 0, true, false, true, true, true, 0},
			{"no marks, and no endpoints yet", s, false, false, true, true, false, 5 * m},
			{"asked again while it waits", 40 * s, false, false, true, true, true, 5*m + 40*s},
			{"endpoints come: kube-proxy may lag", m, false, true, true, true, false, m + 10*s},
			{"no longer idled", m + 10*s, false, true, true, false, false, 0},
		}},
		{"pods never start", []moment{
			{"asks", 0, true, false, true, true, true, 0},
			{"no marks", s, false, false, false, true, false, 5 * m},
			{"it is refused in the end", 5 * m, false, false, true, false, false, 0},
		}},
		{"an administrator removes the marks", []moment{
			{"no client asked", 0, true, false, false, true, false, 0},
			{"shortly", 3 * s, false, false, false, true, false, 10 * s},
			{"refused", 10 * s, false, false, true, false, false, 0},
		}},
	} {
		var h idling.Holder
		start := time.Unix(1_790_000_000, 0)
		for _, at := range row.moments {
			now := start.Add(at.at)
			service := idling.Service{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "u", Idled: at.idled, Ready: at.ready, Ports: []idling.Port{port}}
			ports, next := h.Update(now, []idling.Service{service})
			ask := false
			if at.packet {
				_, ask = h.Held(now, port)
				if ask {
					ports, next = h.Update(now, []idling.Service{service})
				}
			}
			want := time.Time{}
			if at.next != 0 {
				want = start.Add(at.next)
			}
			if held := slices.Contains(ports, port); held != at.held || ask != at.ask || !next.Equal(want) {
				t.Errorf("%s, %s: held %t, ask %t, next %s", row.why, at.why, held, ask, fmt.Sprint(next.Sub(start)))
			}
		}
	}
}

func TestHolderDistinguishesServices(t *testing.T) {
	port := idling.Port{Protocol: corev1.ProtocolTCP, Port: 30080}
	service := func(name string, uid types.UID, idled bool) idling.Service {
		return idling.Service{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: uid, Idled: idled, Ports: []idling.Port{port}}
	}
	var h idling.Holder
	now := time.Unix(1_790_000_000, 0)
	if ports, _ := h.Update(now, []idling.Service{service("b", "2", true), service("a", "1", true)}); len(ports) != 1 {
		t.Errorf("a port of two Services is held back %d times", len(ports))
	}
	if s, ask := h.Held(now, port); s.Name != "a" || !ask {
		t.Errorf("the port is that of %s, %t", s.Name, ask)
	}
	h.Unasked(types.NamespacedName{Namespace: "shop", Name: "a"})
	if _, ask := h.Held(now, port); !ask {
		t.Error("what could not be asked for is not asked for again")
	}
	// Another Service under the name was not idled.
	if ports, _ := h.Update(now, []idling.Service{service("a", "3", false)}); len(ports) != 0 {
		t.Errorf("ports %v are held back", ports)
	}
}

package idling

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Burst is how long after it was asked for a Service is not asked for again, although further packets to it are held back.
	Burst = 30 * time.Second
	// WakeLimit is how long packets are held back after a Service was asked for and is no longer marked as idled, while it has no endpoint:
	// OpenShift removes the marks before pods have started.
	WakeLimit = 5 * time.Minute
	// Grace is how long packets are held back after that: kube-proxy may learn of endpoints later than the annotations are removed. What it
	// translates is not held back.
	Grace = 10 * time.Second
)

// Port is where clients reach a Service.
type Port struct {
	// Address is invalid for a port of all addresses of nodes.
	Address  netip.Addr
	Protocol corev1.Protocol
	Port     uint16
}

func (p Port) compare(q Port) int {
	return cmp.Or(p.Address.Compare(q.Address), cmp.Compare(p.Protocol, q.Protocol), cmp.Compare(p.Port, q.Port))
}

// Service is what holding back depends on.
type Service struct {
	types.NamespacedName
	UID types.UID
	// Idled is true if the Service is marked as idled, Ready if it has an endpoint that is ready.
	Idled, Ready bool
	Ports        []Port
}

// Services reads objects. Slices are those of all Services; only IPv4 counts.
func Services(services []*corev1.Service, endpoints []*discoveryv1.EndpointSlice) []Service {
	ready := map[types.NamespacedName]bool{}
	for _, s := range endpoints {
		key := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
		if s.AddressType == discoveryv1.AddressTypeIPv4 && slices.ContainsFunc(s.Endpoints, EndpointReady) {
			ready[key] = true
		}
	}
	out := make([]Service, 0, len(services))
	for _, s := range services {
		key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		_, idled := s.Annotations[IdledAt]
		out = append(out, Service{NamespacedName: key, UID: s.UID, Idled: idled, Ready: ready[key], Ports: ports(s)})
	}
	return out
}

// EndpointReady reports whether an endpoint takes connections.
func EndpointReady(e discoveryv1.Endpoint) bool {
	return e.Conditions.Ready == nil || *e.Conditions.Ready
}

// ports are all places where clients reach a Service.
func ports(s *corev1.Service) []Port {
	addresses := slices.Clone(s.Spec.ClusterIPs)
	addresses = append(addresses, s.Spec.ExternalIPs...)
	for _, i := range s.Status.LoadBalancer.Ingress {
		addresses = append(addresses, i.IP)
	}
	var out []Port
	for _, p := range s.Spec.Ports {
		for _, text := range addresses {
			if a, err := netip.ParseAddr(text); err == nil && a.Is4() { // "None" for headless ones
				out = append(out, Port{a, p.Protocol, uint16(p.Port)})
			}
		}
		if p.NodePort != 0 {
			out = append(out, Port{netip.Addr{}, p.Protocol, uint16(p.NodePort)})
		}
	}
	return out
}

// Holder decides to which Services packets that kube-proxy does not translate are held back, and when their pods are asked for. The zero value
// is ready for use.
type Holder struct {
	services map[types.NamespacedName]*held
	owners   map[Port]*held
}

type held struct {
	Service
	// asked is when pods were last asked for, marked until when the Service was known to be marked, ready since when it has an endpoint.
	asked, marked, ready time.Time
}

// Update takes all Services. It returns the ports whose packets are held back, in order, and when that may change although no object does; the
// zero time if it does not. The first Service that has a port keeps it.
func (h *Holder) Update(now time.Time, all []Service) (ports []Port, next time.Time) {
	before := h.services
	h.services, h.owners = map[types.NamespacedName]*held{}, map[Port]*held{}
	slices.SortFunc(all, func(a, b Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range all {
		one := &held{Service: s}
		if was := before[s.NamespacedName]; was != nil && was.UID == s.UID {
			one.asked, one.marked, one.ready = was.asked, was.marked, was.ready
			if s.Ready && !was.Ready {
				one.ready = now
			}
		}
		if s.Idled {
			one.marked = now
		} else {
			until := one.until()
			if !now.Before(until) {
				continue
			}
			if next.IsZero() || until.Before(next) {
				next = until
			}
		}
		h.services[s.NamespacedName] = one
		for _, p := range s.Ports {
			if h.owners[p] == nil {
				h.owners[p] = one
				ports = append(ports, p)
			}
		}
	}
	slices.SortFunc(ports, Port.compare)
	return ports, next
}

// until is when packets to a Service that is not marked any more are no longer held back.
func (h *held) until() time.Time {
	if h.marked.IsZero() {
		return time.Time{}
	}
	until := h.marked.Add(Grace)
	last := h.asked.Add(WakeLimit)
	if h.Ready {
		last = h.ready.Add(Grace)
	}
	if last.After(until) {
		return last
	}
	return until
}

// Held takes a packet to a port that was held back. ask is true if pods of the Service have to be asked for; then it is not for the time of a
// burst.
func (h *Holder) Held(now time.Time, p Port) (s Service, ask bool) {
	one := h.owners[p]
	if one == nil {
		return Service{}, false
	}
	if one.Ready || !one.asked.IsZero() && now.Sub(one.asked) < Burst {
		return one.Service, false
	}
	one.asked = now
	return one.Service, true
}

// Unasked is for pods that were asked for in vain: the next packet asks for them again.
func (h *Holder) Unasked(s types.NamespacedName) {
	if one := h.services[s]; one != nil {
		one.asked = time.Time{}
	}
}

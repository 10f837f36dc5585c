package trace

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// podPageSize is the number of pods per list request.
const podPageSize = 500

// snapshot has the objects of the cluster from which packets are traced.
type snapshot struct {
	pods     []corev1.Pod
	nodes    []corev1.Node
	services []corev1.Service
	rules    netpolicy.Result
	// noPolicies is the reason why NetworkPolicies are not known; empty if they are.
	noPolicies string
}

// load reads the objects. It continues if the user may not read NetworkPolicies or Services.
func load(ctx context.Context, r client.Reader) (snapshot, error) {
	var o snapshot
	pods, err := Pods(ctx, r)
	if err != nil {
		return o, err
	}
	o.pods = pods
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return o, fmt.Errorf("list nodes: %w", err)
	}
	o.nodes = nodes.Items
	var services corev1.ServiceList
	if err := r.List(ctx, &services); err != nil {
		return o, fmt.Errorf("list Services: %w", err)
	}
	o.services = services.Items
	var policies networkingv1.NetworkPolicyList
	var namespaces corev1.NamespaceList
	if err := r.List(ctx, &policies); err != nil {
		o.noPolicies = fmt.Sprintf("NetworkPolicies were not evaluated: %v", err)
		return o, nil
	}
	if err := r.List(ctx, &namespaces); err != nil {
		o.noPolicies = fmt.Sprintf("NetworkPolicies were not evaluated: list namespaces: %v", err)
		return o, nil
	}
	var in netpolicy.Input
	for i := range policies.Items {
		in.Policies = append(in.Policies, &policies.Items[i])
	}
	for _, n := range namespaces.Items {
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: n.Name, Labels: n.Labels})
	}
	for i := range pods {
		in.Pods = append(in.Pods, policyPod(&pods[i]))
	}
	o.rules = netpolicy.Translate(in)
	return o, nil
}

// Pods returns all pods, page by page.
func Pods(ctx context.Context, r client.Reader) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for next := ""; ; {
		var list corev1.PodList
		if err := r.List(ctx, &list, client.Limit(podPageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			return all, nil
		}
	}
}

func idOf(p *corev1.Pod) netpolicy.ID { return netpolicy.ID{Namespace: p.Namespace, Name: p.Name} }

// policyPod returns the pod for the evaluation of policies.
func policyPod(p *corev1.Pod) netpolicy.Pod {
	return netpolicy.Pod{ID: idOf(p), Labels: p.Labels, HostNetwork: p.Spec.HostNetwork, Ended: ended(p), Addresses: addressesOf(p), Ports: netpolicy.PortsOf(p)}
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func addressesOf(p *corev1.Pod) []netip.Addr {
	var out []netip.Addr
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			out = append(out, a.Unmap())
		}
	}
	if a, err := netip.ParseAddr(p.Status.PodIP); err == nil && len(out) == 0 {
		out = append(out, a.Unmap())
	}
	return out
}

// pod returns a pod by namespace/name; nil if there is none.
func (o snapshot) pod(name string) *corev1.Pod {
	for i := range o.pods {
		if idOf(&o.pods[i]).String() == name {
			return &o.pods[i]
		}
	}
	return nil
}

// podWith returns the pod on the pod network that has an address now; nil if there is none.
func (o snapshot) podWith(a netip.Addr) *corev1.Pod {
	for i := range o.pods {
		if p := &o.pods[i]; !p.Spec.HostNetwork && !ended(p) && slices.Contains(addressesOf(p), a) {
			return p
		}
	}
	return nil
}

// node returns the node with an address; nil if there is none.
func (o snapshot) node(a netip.Addr) *corev1.Node {
	for i := range o.nodes {
		if slices.Contains(nodeAddresses(&o.nodes[i]), a) {
			return &o.nodes[i]
		}
	}
	return nil
}

func (o snapshot) nodeNamed(name string) *corev1.Node {
	for i := range o.nodes {
		if o.nodes[i].Name == name {
			return &o.nodes[i]
		}
	}
	return nil
}

// nodeAddresses returns the addresses of a node, internal ones first.
func nodeAddresses(n *corev1.Node) []netip.Addr {
	addresses := slices.Clone(n.Status.Addresses)
	slices.SortStableFunc(addresses, func(a, b corev1.NodeAddress) int {
		return cmp.Compare(rank(a.Type), rank(b.Type))
	})
	var out []netip.Addr
	for _, a := range addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

func rank(t corev1.NodeAddressType) int {
	if t == corev1.NodeInternalIP {
		return 0
	}
	return 1
}

func (o snapshot) service(name string) *corev1.Service {
	for i := range o.services {
		if o.services[i].Namespace+"/"+o.services[i].Name == name {
			return &o.services[i]
		}
	}
	return nil
}

// serviceWith returns the Service with an address; nil if there is none.
func (o snapshot) serviceWith(a netip.Addr) *corev1.Service {
	for i := range o.services {
		if slices.Contains(virtualAddresses(&o.services[i]), a) {
			return &o.services[i]
		}
	}
	return nil
}

// virtualAddresses returns the addresses of a Service: cluster IPs first, then external IPs and those of load balancers.
func virtualAddresses(s *corev1.Service) []netip.Addr {
	return parsed(slices.Concat(s.Spec.ClusterIPs, []string{s.Spec.ClusterIP}, s.Spec.ExternalIPs, balancerAddresses(s)))
}

// balancerAddresses returns the addresses of a Service's load balancer to which clients in the cluster connect without it.
func balancerAddresses(s *corev1.Service) []string {
	var out []string
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.IPMode == nil || *i.IPMode == corev1.LoadBalancerIPModeVIP {
			out = append(out, i.IP)
		}
	}
	return out
}

// parsed returns the valid addresses in texts, without duplicates.
func parsed(texts []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(out, a.Unmap()) {
			out = append(out, a.Unmap())
		}
	}
	return out
}

// hasRanges reports whether an address of a Service is one of its load balancer, and the Service has ranges of sources for it.
func hasRanges(s *corev1.Service, a netip.Addr) bool {
	return len(s.Spec.LoadBalancerSourceRanges) > 0 && slices.Contains(parsed(balancerAddresses(s)), a)
}

// admits reports whether the ranges of sources of a Service admit a client. As for kube-proxy, those of another IP family do not count.
func admits(s *corev1.Service, client netip.Addr) bool {
	restricted := false
	for _, text := range s.Spec.LoadBalancerSourceRanges {
		if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil && p.Addr().Is4() == client.Is4() {
			if p.Contains(client) {
				return true
			}
			restricted = true
		}
	}
	return !restricted
}

// endpoint is one endpoint of a port of a Service.
type endpoint struct {
	target netip.AddrPort
	node   string
}

// endpointsOf returns the endpoints of a Service's port that clients use: the ready ones, or, if there are none, those that are
// serving while they terminate. local restricts them to one node.
func endpointsOf(ctx context.Context, r client.Reader, s *corev1.Service, port corev1.ServicePort, like netip.Addr, local string) ([]endpoint, error) {
	var list discoveryv1.EndpointSliceList
	if err := r.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name}); err != nil {
		return nil, fmt.Errorf("list EndpointSlices of Service %s/%s: %w", s.Namespace, s.Name, err)
	}
	var ready, terminating []endpoint
	for _, slice := range list.Items {
		for _, p := range slice.Ports {
			if p.Port == nil || value(p.Name) != port.Name {
				continue
			}
			for _, e := range slice.Endpoints {
				if local != "" && value(e.NodeName) != local {
					continue
				}
				for _, text := range e.Addresses {
					a, err := netip.ParseAddr(text)
					if err != nil || a.Is4() != like.Is4() {
						continue
					}
					one := endpoint{netip.AddrPortFrom(a, uint16(*p.Port)), value(e.NodeName)} //nolint:gosec // the API allows 1 to 65535
					switch {
					case e.Conditions.Ready == nil || *e.Conditions.Ready:
						ready = append(ready, one)
					case value(e.Conditions.Serving) && value(e.Conditions.Terminating):
						terminating = append(terminating, one)
					}
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = terminating
	}
	slices.SortFunc(ready, func(a, b endpoint) int { return a.target.Compare(b.target) })
	return slices.CompactFunc(ready, func(a, b endpoint) bool { return a.target == b.target }), nil
}

func value[T any](v *T) T {
	if v == nil {
		return *new(T)
	}
	return *v
}

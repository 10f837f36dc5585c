package northbound

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// balancing has the data of a Service that its rows depend on.
type balancing struct {
	sticky bool
	// ports are those of the Service. virtual are its addresses. internal are its ClusterIPs if they lead only to pods of the client's node.
	ports             []corev1.ServicePort
	virtual, internal []netip.Addr
	endpoints         []endpoint
}

// endpoint is one endpoint of one port of a Service.
type endpoint struct {
	port    string // its name
	target  netip.AddrPort
	node    string
	ready   bool
	serving bool // terminating, but still serving
}

// SetService adds or replaces a Service.
func (s *State) SetService(service Service) {
	id := netpolicy.ID{Namespace: service.Service.Namespace, Name: service.Service.Name}
	s.services[id] = read(service)
	s.serviceChanged(id, len(s.services[id].internal) > 0)
}

// DeleteService removes a Service.
func (s *State) DeleteService(id netpolicy.ID) {
	if _, exists := s.services[id]; exists {
		delete(s.services, id)
		s.serviceChanged(id, false)
	}
}

func (s *State) serviceChanged(id netpolicy.ID, local bool) {
	if s.local[id] || local {
		for _, node := range s.switched() {
			s.touch(nodeUnit, node)
		}
	}
	if delete(s.local, id); local {
		s.local[id] = true
	}
	s.touch(serviceUnit, id.String())
	s.touch(balancersUnit, "")
}

// read returns the data of a Service and its EndpointSlices. Headless Services and ExternalNames have no addresses.
func read(in Service) balancing {
	spec := in.Service.Spec
	b := balancing{sticky: spec.SessionAffinity == corev1.ServiceAffinityClientIP, ports: spec.Ports}
	if spec.Type == corev1.ServiceTypeExternalName {
		return b
	}
	cluster := addresses(append([]string{spec.ClusterIP}, spec.ClusterIPs...))
	if len(cluster) == 0 {
		return b
	}
	if spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal {
		b.internal = cluster
	} else {
		b.virtual = cluster
	}
	b.virtual = append(b.virtual, addresses(slices.Concat(spec.ExternalIPs, loadBalancerAddresses(in.Service)))...)
	for _, slice := range in.Slices {
		b.endpoints = append(b.endpoints, endpoints(slice)...)
	}
	return b
}

// loadBalancerAddresses returns the addresses of a Service's load balancer to which pods connect without it. Connections to a load balancer that is a proxy must
// pass through it. With ranges of sources, connections leave through the node, whose kube-proxy drops those from elsewhere: OVN's load balancers do not compare
// sources.
func loadBalancerAddresses(s *corev1.Service) []string {
	if len(s.Spec.LoadBalancerSourceRanges) > 0 {
		return nil
	}
	var out []string
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.IPMode == nil || *i.IPMode == corev1.LoadBalancerIPModeVIP {
			out = append(out, i.IP)
		}
	}
	return out
}

// addresses returns the valid addresses in texts, sorted, without duplicates. It ignores None and the empty text.
func addresses(texts []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a.Unmap())
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func endpoints(slice *discoveryv1.EndpointSlice) []endpoint {
	var out []endpoint
	for _, e := range slice.Endpoints {
		ready := e.Conditions.Ready == nil || *e.Conditions.Ready
		serving := ready
		if e.Conditions.Serving != nil {
			serving = *e.Conditions.Serving
		}
		terminating := e.Conditions.Terminating != nil && *e.Conditions.Terminating
		if !ready && (!serving || !terminating) {
			continue
		}
		node := ""
		if e.NodeName != nil {
			node = *e.NodeName
		}
		for _, a := range addresses(e.Addresses) {
			for _, p := range slice.Ports {
				if p.Port == nil {
					continue
				}
				name := ""
				if p.Name != nil {
					name = *p.Name
				}
				out = append(out, endpoint{name, netip.AddrPortFrom(a, uint16(*p.Port)), node, ready, !ready})
			}
		}
	}
	return out
}

// of returns the endpoints of a port in one family, of one node if node is not empty. It returns terminating ones only if there are no others.
func (b balancing) of(port string, like netip.Addr, node string) string {
	var ready, serving []netip.AddrPort
	for _, e := range b.endpoints {
		switch {
		case e.port != port || e.target.Addr().Is4() != like.Is4() || node != "" && e.node != node:
		case e.ready:
			ready = append(ready, e.target)
		default:
			serving = append(serving, e.target)
		}
	}
	if len(ready) == 0 {
		ready = serving
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	texts := make([]string, 0, len(ready))
	for _, t := range slices.Compact(ready) {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ",")
}

// protocols returns the sorted protocols of the ports in OVN's notation.
func (b balancing) protocols() []string {
	var out []string
	for _, p := range b.ports {
		out = append(out, protocol(p.Protocol))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func protocol(p corev1.Protocol) string {
	return strings.ToLower(string(cmp.Or(p, corev1.ProtocolTCP)))
}

// vips returns the virtual addresses of the ports of a protocol with their endpoints. A virtual address without endpoints rejects connections.
func (b balancing) vips(protocolName string, virtual []netip.Addr, node string, empty bool) ovsdb.Map {
	out := ovsdb.Map{}
	for _, p := range b.ports {
		if protocol(p.Protocol) != protocolName {
			continue
		}
		for _, a := range virtual {
			targets := ""
			if !empty {
				targets = b.of(p.Name, a, node)
			}
			out[netip.AddrPortFrom(a, uint16(p.Port)).String()] = targets
		}
	}
	return out
}

// endpointNodes returns the nodes with endpoints.
func (b balancing) endpointNodes() map[string]bool {
	out := map[string]bool{}
	for _, e := range b.endpoints {
		out[e.node] = true
	}
	delete(out, "")
	return out
}

// serviceRows returns one load balancer for each protocol. A Service that leads only to pods of the client's node has one for each node with endpoints, and
// one for all other nodes, which rejects connections.
func (s *State) serviceRows(id netpolicy.ID) []ovsdb.Desired {
	b := s.services[id]
	var rows []ovsdb.Desired
	for _, p := range b.protocols() {
		if len(b.virtual) > 0 {
			rows = append(rows, b.row(balancerKey(id, p, ""), p, b.vips(p, b.virtual, "", false)))
		}
		if len(b.internal) == 0 {
			continue
		}
		rows = append(rows, b.row(balancerKey(id, p, noEndpoints), p, b.vips(p, b.internal, "", true)))
		nodes := b.endpointNodes()
		for _, node := range s.switched() {
			if nodes[node] {
				rows = append(rows, b.row(balancerKey(id, p, node), p, b.vips(p, b.internal, node, false)))
			}
		}
	}
	return rows
}

// noEndpoints represents the nodes without endpoints. It is not a valid node name.
const noEndpoints = "-"

func balancerKey(id netpolicy.ID, protocolName, node string) string {
	key := fmt.Sprintf("Service_%s_%s", id, strings.ToUpper(protocolName))
	if node == "" {
		return key + "_cluster"
	}
	return key + "_node_switch_" + node
}

func (b balancing) row(key, protocolName string, vips ovsdb.Map) ovsdb.Desired {
	fields := ovsdb.Set{}
	if b.sticky {
		// A hash of the client's addresses. ip_src is constant for IPv6; the hardware address of a pod is unique and the pod cannot change it. The option
		// affinity_timeout would lose each client's first connection: ovn-northd 23.03 drops the packet from which it learns the endpoint, and all
		// retransmissions, since they have been translated already.
		fields = ovsdb.Set{"eth_src", "ip_src"}
	}
	sources := make([]string, len(hairpin))
	for i, a := range hairpin {
		sources[i] = a.String()
	}
	return ovsdb.Desired{Ref: ovsdb.Ref{Table: tableBalancer, Key: key}, Columns: map[string]any{
		"name": key, "protocol": ovsdb.Set{protocolName}, "vips": vips, "selection_fields": fields,
		"options": ovsdb.Map{
			"reject": strconv.FormatBool(true), "hairpin_snat_ip": strings.Join(sources, " "),
			// Clients that reuse their source port would stay with a removed endpoint.
			"ct_flush": strconv.FormatBool(true),
		},
	}}
}

// balancersRows returns the group of load balancers that all switches have.
func (s *State) balancersRows() []ovsdb.Desired {
	members := ovsdb.Set{}
	for id, b := range s.services {
		if len(b.virtual) > 0 {
			for _, p := range b.protocols() {
				members = append(members, ovsdb.Ref{Table: tableBalancer, Key: balancerKey(id, p, "")})
			}
		}
	}
	return []ovsdb.Desired{{Ref: ovsdb.Ref{Table: tableBalancers, Key: clusterBalancers}, Columns: map[string]any{
		"name": clusterBalancers, "load_balancer": members,
	}}}
}

// localBalancers returns the load balancers of one switch.
func (s *State) localBalancers(node string) ovsdb.Set {
	members := ovsdb.Set{}
	for _, id := range slices.SortedFunc(maps.Keys(s.local), netpolicy.ID.Compare) {
		b := s.services[id]
		at := noEndpoints
		if b.endpointNodes()[node] {
			at = node
		}
		for _, p := range b.protocols() {
			members = append(members, ovsdb.Ref{Table: tableBalancer, Key: balancerKey(id, p, at)})
		}
	}
	return members
}

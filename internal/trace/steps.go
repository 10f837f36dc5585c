package trace

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// toService translates the address of a Service to that of an endpoint: one that policies deny, if there is any, since connections to it
// fail.
func (t *tracing) toService(ctx context.Context, to target) error {
	port, err := to.servicePort(t.question)
	if err != nil {
		return err
	}
	s := to.service
	where := fmt.Sprintf("Service %s/%s", s.Namespace, s.Name)
	address := to.address
	if !address.IsValid() {
		virtual := virtualAddresses(s)
		if same := like(virtual, t.packet.From.Address); len(same) > 0 {
			virtual = same
		}
		address = virtual[0] // familiesOf has refused a Service without an address
	}
	t.packet.Service = netip.AddrPortFrom(address, uint16(port.Port)) //nolint:gosec // the API allows 1 to 65535
	t.packet.Protocol = port.Protocol
	t.answer.Service = &Service{Name: s.Namespace + "/" + s.Name, Address: address.String(), Port: t.packet.Service.Port(), Endpoints: []string{}}
	ranges := hasRanges(s, address)
	if client := t.packet.From.Address; ranges && client.IsValid() && !admits(s, client) {
		t.toVirtual()
		t.add(where, false, "%s is an address of its load balancer, and its loadBalancerSourceRanges %v do not have %s: kube-proxy on node %s drops the packet",
			t.packet.Service, s.Spec.LoadBalancerSourceRanges, client, t.packet.From.Node)
		return nil
	}
	local, which := "", ""
	if value(s.Spec.InternalTrafficPolicy) == corev1.ServiceInternalTrafficPolicyLocal {
		local, which = t.packet.From.Node, " on node "+t.packet.From.Node+" (internalTrafficPolicy is Local)"
	}
	endpoints, err := endpointsOf(ctx, t.Objects, s, port, address, local)
	if err != nil {
		return err
	}
	if len(endpoints) == 0 {
		t.toVirtual()
		t.add(where, false, "%s has no endpoint that is ready%s: connections are refused", t.packet.Service, which)
		return nil
	}
	if ranges && t.packet.From.IsPod() && t.carriage.NodeTranslates != "" {
		t.leaves(where, endpoints)
		return nil
	}
	chosen := endpoints[0]
	for i, e := range endpoints {
		t.answer.Service.Endpoints = append(t.answer.Service.Endpoints, e.target.String())
		if !t.enforced() {
			continue
		}
		if v := t.rules.Allowed(t.connection(t.endOfAddress(e.target.Addr()), e.target.Port())); !v.Allowed {
			if len(t.answer.Service.Refused) == 0 {
				chosen = endpoints[i]
			}
			t.answer.Service.Refused = append(t.answer.Service.Refused, e.target.String())
		}
	}
	t.packet.Port = chosen.target.Port()
	if p := t.podWith(chosen.target.Addr()); p != nil {
		t.destination(p, chosen.target.Addr())
	} else {
		t.outside(chosen.target.Addr())
	}
	text := fmt.Sprintf("%s is translated to %s, %s, one of %d endpoints%s", t.packet.Service, chosen.target, t.answer.To, len(endpoints), which)
	translates := t.carriage.Translates
	if !t.packet.From.IsPod() {
		translates = cmp.Or(t.carriage.NodeTranslates, translates)
	}
	if translates != "" {
		text += ", by " + translates
	}
	t.add(where, true, "%s", text)
	if refused := len(t.answer.Service.Refused); refused > 0 && refused < len(endpoints) {
		t.note("NetworkPolicies stop connections to %d of %d endpoints of %s; the path to one of them is shown", refused, len(endpoints), where)
	}
	if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		t.note("%s has session affinity: connections of one client go to the same endpoint, which may be another one", where)
	}
	return nil
}

// toVirtual sets the address of the Service itself as the destination.
func (t *tracing) toVirtual() {
	address := t.packet.Service.Addr()
	t.packet.Port = t.packet.Service.Port()
	t.outside(address)
	t.packet.To = provider.TraceEnd{Address: address}
}

// leaves has the packet leave the pod network with the address of the Service, since the node of the client translates it.
func (t *tracing) leaves(where string, endpoints []endpoint) {
	for _, e := range endpoints {
		t.answer.Service.Endpoints = append(t.answer.Service.Endpoints, e.target.String())
	}
	t.toVirtual()
	t.add(where, true, "%s is an address of its load balancer, with loadBalancerSourceRanges that have %s: it is translated to one of %d endpoints by %s",
		t.packet.Service, t.packet.From.Address, len(endpoints), t.carriage.NodeTranslates)
	t.note("ingress rules of NetworkPolicies see an address of node %s as the client of %s; trace from a pod on the network of that node to see the way to an endpoint", t.packet.From.Node, where)
	t.packet.Service = netip.AddrPort{} // the network does not translate it
}

// endOfAddress returns the end with an address for policies.
func (t *tracing) endOfAddress(a netip.Addr) netpolicy.End {
	e := netpolicy.End{Address: a}
	if p := t.podWith(a); p != nil {
		e.Pod = idOf(p)
	}
	return e
}

// connection returns the connection from the source to an end for policies.
func (t *tracing) connection(to netpolicy.End, port uint16) netpolicy.Connection {
	from := netpolicy.End{Address: t.packet.From.Address}
	if t.packet.From.IsPod() {
		from.Pod = netpolicy.ID(t.packet.From.Pod)
	}
	return netpolicy.Connection{From: from, To: to, Protocol: t.packet.Protocol, Port: port}
}

// enforced reports whether NetworkPolicies are known and enforced.
func (t *tracing) enforced() bool { return t.carriage.Unenforced == "" && t.noPolicies == "" }

// request adds the steps of the first packet from objects.
func (t *tracing) request() {
	c := t.connection(t.endOfAddress(t.packet.To.Address), t.packet.Port)
	v := t.rules.Allowed(c)
	if t.carriage.Unenforced != "" {
		t.note("%s", t.carriage.Unenforced)
	}
	if t.enforced() && t.packet.From.IsPod() {
		t.decision(fmt.Sprintf("leaving %s", t.answer.From), c, v.Egress, netpolicy.Egress)
	}
	t.between()
	if t.enforced() && t.packet.To.IsPod() {
		switch {
		case !t.packet.From.IsPod() && t.packet.From.Node == t.packet.To.Node:
			t.add(fmt.Sprintf("entering %s", t.answer.To), true, "NetworkPolicies do not apply to what the pod's own node sends")
		default:
			t.decision(fmt.Sprintf("entering %s", t.answer.To), c, v.Ingress, netpolicy.Ingress)
		}
	}
	if t.to != nil {
		t.add(t.answer.To.String(), t.to.Status.Phase == corev1.PodRunning && t.packet.To.Address.IsValid(), "%s", phase(t.to, t.packet.To.Address))
	}
}

func (t *tracing) decision(where string, c netpolicy.Connection, d netpolicy.DirectionDecision, direction string) {
	step := t.add(where, d.Allows(), "%s", d.Explain(direction))
	if !d.Allows() {
		step.Flows = t.rules.Near(c, direction)
	}
}

// between adds the nodes, and the path from one to the other or out of the cluster.
func (t *tracing) between() {
	from, to := t.packet.From, t.packet.To
	t.node(from.Node)
	switch {
	case !to.Address.IsValid():
	case to.Node == "" && t.inside(to.Address):
		t.add("address "+to.Address.String(), false, "is in the cluster network, and no pod has it")
	case to.Node == "" || to.Node != from.Node && !to.IsPod():
		source := t.sourceOutside()
		t.add("leaving the cluster network", true, "at node %s, which %s%s", from.Node, orElse(t.carriage.Leaves, "forwards it"), source)
	case to.Node != from.Node:
		t.add(from.Node+" to "+to.Node, true, "%s", t.passage(from.Node, to.Node))
		t.node(to.Node)
	}
}

func (t *tracing) sourceOutside() string {
	n := t.nodeNamed(t.packet.From.Node)
	if n == nil || !t.packet.From.IsPod() {
		return ""
	}
	if own := like(nodeAddresses(n), t.packet.To.Address); len(own) > 0 {
		return " (" + own[0].String() + ")"
	}
	return ""
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// passage describes the transport of a packet from one node to another.
func (t *tracing) passage(from, to string) string {
	text := "by " + orElse(t.carriage.Between, "the network between nodes")
	a, b := t.nodeNamed(from), t.nodeNamed(to)
	if a == nil || b == nil {
		return text
	}
	if x, y := nodeAddresses(a), nodeAddresses(b); len(x) > 0 && len(y) > 0 {
		text += fmt.Sprintf(", from %s to %s", x[0], y[0])
	}
	return text
}

// inside reports whether an address is in the pools of pods.
func (t *tracing) inside(a netip.Addr) bool {
	return slices.ContainsFunc(t.Spec.ClusterNetwork, func(e operatorv1.ClusterNetworkEntry) bool {
		p, err := netip.ParsePrefix(e.CIDR)
		return err == nil && p.Contains(a)
	})
}

// node adds a node if it is not ready.
func (t *tracing) node(name string) {
	n := t.nodeNamed(name)
	if name == "" {
		return
	}
	if n == nil {
		t.add("node "+name, false, "does not exist")
		return
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			t.note("node %s is not Ready: %s", name, c.Message)
		}
	}
}

// reply adds the steps of the reply from objects.
func (t *tracing) reply() {
	from, to := t.packet.From, t.packet.To
	if t.enforced() && (from.IsPod() || to.IsPod()) {
		t.back(t.answer.To.String(), "answers; NetworkPolicies let answers of connections that they allowed pass")
	} else {
		t.back(t.answer.To.String(), "answers")
	}
	switch {
	case to.Node == "" || to.Node != from.Node && !to.IsPod():
		t.back("entering the cluster network", "at node %s, which translates the destination back to %s", from.Node, from.Address)
	case to.Node != from.Node:
		t.back(to.Node+" to "+from.Node, "%s", t.passage(to.Node, from.Node))
	}
	if t.packet.Service.IsValid() {
		t.back("Service "+t.answer.Service.Name, "the source %s is translated back to %s", netip.AddrPortFrom(to.Address, t.packet.Port), t.packet.Service)
	}
	t.back(t.answer.From.String(), "gets the answer")
}

// installed adds the steps of the Tracer.
func (t *tracing) installed(ctx context.Context) {
	if t.Tracer == nil || !t.packet.From.Address.IsValid() || !t.packet.To.Address.IsValid() || t.packet.From.Node == "" {
		return
	}
	steps, err := t.Tracer.Trace(ctx, provider.TraceAccess{Objects: t.Objects, Spec: t.Spec, Run: t.Run}, t.packet)
	for _, s := range steps {
		one := Step{Where: s.Where, OK: !s.Stops, What: s.What, Installed: true, Flows: s.Flows}
		if s.Reply {
			t.answer.Reply = append(t.answer.Reply, one)
		} else {
			t.answer.Request = append(t.answer.Request, one)
		}
	}
	if err != nil {
		t.note("the state of the network could not be read completely: %v", err)
	}
}

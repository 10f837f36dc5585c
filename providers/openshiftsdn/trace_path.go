package openshiftsdn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// clientPort is the source port of the traced connection. No flow matches it.
const clientPort = 40000

// segment is a packet in the notation of ovs-fields(7), without its input port.
type segment struct {
	protocol            string
	from, to            netip.Addr
	source, destination uint16
	// state is the connection tracking state; empty for a new connection.
	state string
}

func (s segment) String() string {
	text := fmt.Sprintf("%s,nw_src=%s,nw_dst=%s,%s_src=%d,%s_dst=%d", s.protocol, s.from, s.to, s.protocol, s.source, s.protocol, s.destination)
	if s.state != "" {
		text = s.state + "," + text
	}
	return text
}

func (f *tracer) segment() segment {
	s := segment{protocol: strings.ToLower(string(f.packet.Protocol)), from: f.packet.From.Address, to: f.packet.To.Address, source: clientPort, destination: f.packet.Port}
	if !f.packet.From.IsPod() {
		s.from = flows.RouterAddress(f.from.block)
	}
	return s
}

// request traces the first packet, and reports whether it reaches the destination.
func (f *tracer) request(ctx context.Context) (bool, error) {
	s := f.segment()
	port := flows.NodePort // packets of the node itself enter from the kernel
	if f.packet.From.IsPod() {
		n, err := f.port(ctx, f.from, s.from)
		if errors.Is(err, errNotAttached) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		port = n
		if f.packet.Service.IsValid() {
			virtual := s
			virtual.to, virtual.destination = f.packet.Service.Addr(), f.packet.Service.Port()
			o, err := f.bridge(ctx, f.from, fmt.Sprintf("in_port=%d,%s", port, virtual))
			if err != nil || !o.Kernel {
				return false, err
			}
			port = flows.NodePort // the packet returns with the endpoint's address
		}
	}
	return f.deliver(ctx, f.from, f.to, fmt.Sprintf("in_port=%d,%s", port, s), s)
}

// deliver traces a packet from the bridge of a node to its destination, and reports whether it reaches it.
func (f *tracer) deliver(ctx context.Context, from, to endpoint, entering string, s segment) (bool, error) {
	o, err := f.bridge(ctx, from, entering)
	if err != nil {
		return false, err
	}
	if len(o.Tunnels) == 0 {
		return !o.Dropped(), nil
	}
	next := to
	if o.Tunnels[0] != to.address {
		// The other node has the egress IP and forwards the packet.
		if next, err = f.endpointWith(ctx, o.Tunnels[0]); err != nil {
			return false, err
		}
	}
	o, err = f.bridge(ctx, next, fmt.Sprintf("in_port=%d,tun_src=%s,tun_id=%d,%s", flows.TunnelPort, from.address, o.VNID, s))
	return !o.Dropped(), err
}

// endpointWith returns the node with an address.
func (f *tracer) endpointWith(ctx context.Context, a netip.Addr) (endpoint, error) {
	hosts, err := hostSubnets(ctx, f.access.Objects)
	if err != nil {
		return endpoint{}, err
	}
	for _, h := range hosts {
		if h.HostIP == a.String() {
			return f.endpoint(ctx, h.Name)
		}
	}
	return endpoint{}, fmt.Errorf("no HostSubnet has the address %s, to which the packet is sent", a)
}

// reply traces the reply.
func (f *tracer) reply(ctx context.Context) error {
	s := f.segment()
	back := segment{protocol: s.protocol, from: s.to, to: s.from, source: s.destination, destination: s.source, state: "ct_state=trk|est|rpl"}
	if !f.packet.To.IsPod() {
		// The kernel of the client's node translates the destination back.
		_, err := f.deliver(ctx, f.from, f.from, fmt.Sprintf("in_port=%d,%s", flows.NodePort, back), back)
		return err
	}
	port, err := f.port(ctx, f.to, back.from)
	if err != nil {
		return err
	}
	byService := f.packet.Service.IsValid() && f.packet.From.IsPod()
	if byService && f.from == f.to {
		back.state += ",ct_mark=1" // the client's node tracks the connection as one to a Service
	}
	o, err := f.bridge(ctx, f.to, fmt.Sprintf("in_port=%d,%s", port, back))
	if err != nil || o.Dropped() {
		return err
	}
	if len(o.Tunnels) > 0 {
		if byService {
			back.state += ",ct_mark=1"
		}
		if o, err = f.bridge(ctx, f.from, fmt.Sprintf("in_port=%d,tun_src=%s,tun_id=%d,%s", flows.TunnelPort, f.to.address, o.VNID, back)); err != nil || o.Dropped() {
			return err
		}
	}
	if byService && o.Kernel {
		back.state, back.from, back.source = "", f.packet.Service.Addr(), f.packet.Service.Port()
		_, err = f.bridge(ctx, f.from, fmt.Sprintf("in_port=%d,%s", flows.NodePort, back))
	}
	return err
}

// bridge traces a packet through the bridge of a node, and adds a step.
func (f *tracer) bridge(ctx context.Context, at endpoint, packet string) (flows.Outcome, error) {
	t, err := f.trace(ctx, at, packet)
	if err != nil {
		return flows.Outcome{}, err
	}
	o := flows.OutcomeOf(t)
	f.add(at.name, o.Dropped(), f.describe(t, o), decisive(t))
	return o, nil
}

// describe returns the outcome as a clause.
func (f *tracer) describe(t openflow.Trace, o flows.Outcome) string {
	var text string
	switch {
	case len(o.Ports) > 0:
		text = fmt.Sprintf("to port %d", o.Ports[0])
	case len(o.Tunnels) > 0:
		text = fmt.Sprintf("to %s, port %s, with VNID %d", o.Tunnels[0], agentconfig.VXLAN, o.VNID)
	case o.Kernel:
		text = "to the node's kernel, port " + agentconfig.Tunnel
	default:
		return "the packet is dropped: " + t.Reason()
	}
	for _, s := range t.Steps {
		if strings.HasPrefix(s.Note, "NetworkPolicy ") || strings.HasPrefix(s.Note, "EgressNetworkPolicy ") {
			text += "; " + s.Note
		}
	}
	return text
}

// decisive returns the flows that matched the packet, with their notes.
func decisive(t openflow.Trace) []string {
	var out []string
	for _, s := range t.Steps {
		line := fmt.Sprintf("table %d: %s", s.Table, s.Flow)
		if s.Note != "" {
			line += "  # " + s.Note
		}
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

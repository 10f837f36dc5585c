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

// clientPort is the port from which the connection comes. No flow looks at it.
const clientPort = 40000

// segment is a packet in the notation of ovs-fields(7), but for where it enters the bridge.
type segment struct {
	protocol            string
	from, to            netip.Addr
	source, destination uint16
	// state is what connection tracking finds; empty for a new connection.
	state string
}

func (s segment) String() string {
	text := fmt.Sprintf("%s,nw_src=%s,nw_dst=%s,%s_src=%d,%s_dst=%d", s.protocol, s.from, s.to, s.protocol, s.source, s.protocol, s.destination)
	if s.state != "" {
		text = s.state + "," + text
	}
	return text
}

func (f *follower) segment() segment {
	s := segment{protocol: strings.ToLower(string(f.packet.Protocol)), from: f.packet.From.Address, to: f.packet.To.Address, source: clientPort, destination: f.packet.Port}
	if !f.packet.From.IsPod() {
		s.from = flows.RouterAddress(f.from.block)
	}
	return s
}

// request follows the first packet. It reports whether it arrives.
func (f *follower) request(ctx context.Context) (bool, error) {
	s := f.segment()
	port := flows.NodePort // what the node itself sends comes from the kernel
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
			port = flows.NodePort // with the endpoint's address the packet comes back
		}
	}
	return f.deliver(ctx, f.from, f.to, fmt.Sprintf("in_port=%d,%s", port, s), s)
}

// deliver follows a packet from the bridge of a node to the end of its way. It reports whether it arrives.
func (f *follower) deliver(ctx context.Context, from, to place, entering string, s segment) (bool, error) {
	o, err := f.bridge(ctx, from, entering)
	if err != nil {
		return false, err
	}
	if len(o.Tunnels) == 0 {
		return !o.Dropped(), nil
	}
	next := to
	if o.Tunnels[0] != to.address {
		// An egress IP of another node: that node sends it on.
		if next, err = f.placeWith(ctx, o.Tunnels[0]); err != nil {
			return false, err
		}
	}
	o, err = f.bridge(ctx, next, fmt.Sprintf("in_port=%d,tun_src=%s,tun_id=%d,%s", flows.TunnelPort, from.address, o.VNID, s))
	return !o.Dropped(), err
}

// placeWith is the node with an address.
func (f *follower) placeWith(ctx context.Context, a netip.Addr) (place, error) {
	hosts, err := hostSubnets(ctx, f.access.Objects)
	if err != nil {
		return place{}, err
	}
	for _, h := range hosts {
		if h.HostIP == a.String() {
			return f.place(ctx, h.Name)
		}
	}
	return place{}, fmt.Errorf("no HostSubnet has the address %s, to which the packet is sent", a)
}

// reply follows the reply.
func (f *follower) reply(ctx context.Context) error {
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
		back.state += ",ct_mark=1" // the connection is known as one by a Service on the client's node
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

// bridge follows a packet through the bridge of a node, and adds the step.
func (f *follower) bridge(ctx context.Context, at place, packet string) (flows.Outcome, error) {
	t, err := f.trace(ctx, at, packet)
	if err != nil {
		return flows.Outcome{}, err
	}
	o := flows.OutcomeOf(t)
	f.add(at.name, o.Dropped(), f.what(t, o), decisive(t))
	return o, nil
}

// what says what becomes of the packet, as a clause.
func (f *follower) what(t openflow.Trace, o flows.Outcome) string {
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

// decisive are the flows that selected the packet, with their notes.
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

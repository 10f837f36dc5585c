package ovnkubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

var _ provider.Tracer = OVNKubernetes{}

// Carries says how packets are carried.
func (OVNKubernetes) Carries(spec *operatorv1.NetworkSpec) provider.Carriage {
	port := uint32(defaultGenevePort)
	if p := settings(spec).GenevePort; p != nil {
		port = *p
	}
	return provider.Carriage{
		Between:    fmt.Sprintf("Geneve, UDP port %d", port),
		Translates: "OVN's load balancer on the switch of the client's node",
		Leaves:     "masquerades the packet with its own address",
	}
}

// Follow follows the packet and its reply through the logical network by ovn-trace, on the master that leads, and names the access rules that
// decide.
func (OVNKubernetes) Follow(ctx context.Context, at provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	if at.Run == nil {
		return nil, nil
	}
	f := follower{access: at, packet: p}
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	steps, err := f.bindings(ctx)
	if err != nil {
		return steps, err
	}
	request, err := f.trace(ctx, f.request())
	steps = append(steps, request...)
	if err != nil || slices.ContainsFunc(steps, func(s provider.TraceStep) bool { return s.Stops }) {
		return steps, err
	}
	reply, err := f.trace(ctx, f.reply())
	for i := range reply {
		reply[i].Reply = true
	}
	return append(steps, reply...), err
}

// follower follows one packet.
type follower struct {
	access   provider.TraceAccess
	packet   provider.TracePacket
	leader   string
	from, to logicalEnd
}

// logicalEnd is where a packet enters the logical network, or leaves it.
type logicalEnd struct {
	node, port string
	mac, via   net.HardwareAddr // via is the router's on the switch of the node
	address    netip.Addr
	// onSwitch is true if the address is that of the port, and not one behind it.
	onSwitch bool
}

// prepare finds the leading master, and the logical ends.
func (f *follower) prepare(ctx context.Context) error {
	var err error
	if f.leader, err = leaderOf(ctx, f.access.Objects); err != nil {
		return err
	}
	if f.from, err = f.end(ctx, f.packet.From, f.packet.From.Node); err != nil {
		return err
	}
	f.to, err = f.end(ctx, f.packet.To, f.packet.From.Node)
	return err
}

// leaderOf is the node of the master that leads.
func leaderOf(ctx context.Context, objects client.Reader) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := objects.Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.Lease}, lease); err != nil {
		return "", fmt.Errorf("find the master that leads: %w", err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", fmt.Errorf("no master leads: Lease %s/%s has no holder", agentconfig.Namespace, agentconfig.Lease)
	}
	node, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return node, nil
}

// end returns the logical end of an end. What is no pod is reached by the management port of a node: a node by its own, and everything else by
// that of the client's node.
func (f *follower) end(ctx context.Context, e provider.TraceEnd, exit string) (logicalEnd, error) {
	out := logicalEnd{node: e.Node, address: e.Address, onSwitch: e.IsPod()}
	if !e.IsPod() && (out.node == "" || out.node != exit) {
		out.node = exit
	}
	node := &corev1.Node{}
	if err := f.access.Objects.Get(ctx, client.ObjectKey{Name: out.node}, node); err != nil {
		return out, fmt.Errorf("read node %s: %w", out.node, err)
	}
	value, annotated := node.Annotations[topology.NodeSubnets]
	if !annotated {
		return out, fmt.Errorf("node %s has no annotation %s: the master has given it no block", out.node, topology.NodeSubnets)
	}
	blocks, err := topology.DecodeNodeSubnets(value)
	if err != nil {
		return out, fmt.Errorf("node %s: %w", out.node, err)
	}
	first := blocks[0] // the IPv4 one, if there is one, has the hardware addresses
	if i := slices.IndexFunc(blocks, func(b netip.Prefix) bool { return b.Addr().Is4() }); i >= 0 {
		first = blocks[i]
	}
	out.via = topology.MAC(topology.RouterAddress(first).Addr())
	if !e.IsPod() {
		out.port, out.mac = topology.ManagementPort(out.node), topology.MAC(topology.ManagementAddress(first).Addr())
		if e.Node == out.node {
			for _, b := range blocks {
				if b.Addr().Is4() == e.Address.Is4() {
					out.address, out.onSwitch = topology.ManagementAddress(b).Addr(), true
				}
			}
		}
		return out, nil
	}
	pod := &corev1.Pod{}
	if err := f.access.Objects.Get(ctx, e.Pod, pod); err != nil {
		return out, fmt.Errorf("read pod %s: %w", e.Pod, err)
	}
	given, annotated := pod.Annotations[topology.PodNetworks]
	if !annotated {
		return out, fmt.Errorf("pod %s has no annotation %s: the master has given it no address", e.Pod, topology.PodNetworks)
	}
	decoded, err := topology.DecodePod(given)
	if err != nil {
		return out, fmt.Errorf("pod %s: %w", e.Pod, err)
	}
	out.port, out.mac = topology.PodPort(e.Pod.Namespace, e.Pod.Name), decoded.MAC
	return out, nil
}

// logicalPacket is a packet at a logical port.
type logicalPacket struct {
	from        logicalEnd
	to          netip.Addr
	next        net.HardwareAddr
	protocol    string
	source      uint16
	destination uint16
	// states are what connection tracking finds, balanced the endpoint that a load balancer chooses; empty for none.
	states, balanced string
}

// clientPort is the port from which the connection comes. No rule looks at it.
const clientPort = 40000

func (f *follower) request() logicalPacket {
	p := logicalPacket{from: f.from, to: f.packet.To.Address, protocol: strings.ToLower(string(f.packet.Protocol)), source: clientPort, destination: f.packet.Port, states: "new"}
	p.next = f.nextHop(f.from, f.to, p.to)
	// OVN serves pods; nodes reach Services by kube-proxy, whose work is done when a packet comes here.
	if f.packet.Service.IsValid() && f.packet.From.IsPod() {
		p.balanced = netip.AddrPortFrom(p.to, p.destination).String()
		p.to, p.destination, p.next = f.packet.Service.Addr(), f.packet.Service.Port(), f.from.via
	}
	return p
}

func (f *follower) reply() logicalPacket {
	from := f.to
	if !f.packet.To.IsPod() {
		from.address = f.packet.To.Address
	}
	return logicalPacket{
		from: from, to: f.from.address, next: f.nextHop(f.to, f.from, f.from.address), protocol: strings.ToLower(string(f.packet.Protocol)),
		source: f.packet.Port, destination: clientPort, states: "est,rpl",
	}
}

// nextHop is the hardware address to which a packet goes: that of a port of the same switch, or of the router.
func (f *follower) nextHop(from, to logicalEnd, destination netip.Addr) net.HardwareAddr {
	if from.node == to.node && to.onSwitch && to.address == destination && from.port != to.port {
		return to.mac
	}
	return from.via
}

// expression is the packet in the language of ovn-trace.
func (p logicalPacket) expression() string {
	ip := "ip4"
	if p.to.Is6() {
		ip = "ip6"
	}
	return fmt.Sprintf("inport == %q && eth.src == %s && eth.dst == %s && %s.src == %s && %s.dst == %s && ip.ttl == 64 && %s.src == %d && %s.dst == %d",
		p.from.port, p.from.mac, p.next, ip, p.from.address, ip, p.to, p.protocol, p.source, p.protocol, p.destination)
}

// passes is how often connection tracking may be asked on the way of a packet.
const passes = 8

// command is that of ovn-trace. Chosen has its load balancers choose the endpoint of the packet, although they have others.
func (p logicalPacket) command(chosen bool) []string {
	out := []string{"ovn-trace", "--no-leader-only", "--db=unix:" + agentconfig.SouthSocket, "--detailed"}
	for range passes {
		out = append(out, "--ct="+p.states)
	}
	if chosen {
		out = append(out, "--lb-dst="+p.balanced)
	}
	return append(out, topology.Switch(p.from.node), p.expression())
}

// run runs a command on the master that leads.
func (f *follower) run(ctx context.Context, command ...string) (string, error) {
	return f.access.Run(ctx, provider.TraceCommand{
		Namespace: agentconfig.Namespace, App: masterName, Node: f.leader, Container: agentconfig.CommandMaster, Command: command,
	})
}

// bindings are the ports of both ends, which must be connected on their nodes.
func (f *follower) bindings(ctx context.Context) ([]provider.TraceStep, error) {
	var steps []provider.TraceStep
	for _, end := range []logicalEnd{f.from, f.to} {
		out, err := f.run(ctx, "ovn-sbctl", "--no-leader-only", "--db=unix:"+agentconfig.SouthSocket, "--timeout=10", "--bare", "--columns=up", "find", "Port_Binding", "logical_port="+end.port)
		if err != nil {
			return steps, err
		}
		switch strings.TrimSpace(out) {
		case "true":
		case "":
			steps = append(steps, provider.TraceStep{Where: "logical port " + end.port, Stops: true, What: "does not exist in the southbound database: ovn-master or ovn-northd has not processed it yet"})
		default:
			steps = append(steps, provider.TraceStep{Where: "logical port " + end.port, Stops: true, What: "is not connected: ovn-controller on node " + end.node + " has not bound it"})
		}
		if f.from.port == f.to.port {
			break
		}
	}
	return steps, nil
}

// trace runs ovn-trace and names what decides.
func (f *follower) trace(ctx context.Context, p logicalPacket) ([]provider.TraceStep, error) {
	t, err := f.datapaths(ctx, p)
	if err != nil {
		return nil, err
	}
	var steps []provider.TraceStep
	for i, d := range t {
		step := provider.TraceStep{Where: d.where(), What: d.passage()}
		for _, l := range d.flows {
			if !l.decides() {
				continue
			}
			text := l.String()
			if l.isRule() {
				name, err := f.ruleOf(ctx, l)
				if err != nil {
					return steps, err
				}
				if name != "" {
					text = name + ": " + text
					step.What += "; " + name
				}
			}
			step.Flows = append(step.Flows, text)
		}
		step.Stops = i == len(t)-1 && d.output == ""
		if step.Stops && len(d.flows) > 0 {
			if last := d.flows[len(d.flows)-1]; !last.decides() {
				step.Flows = append(step.Flows, last.String())
			}
			if d.reject() {
				step.What += "; the connection is refused, since the Service has no endpoint"
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// datapaths runs ovn-trace. It chooses one of several endpoints of a load balancer at random: then it runs again, with the endpoint that is asked
// about.
func (f *follower) datapaths(ctx context.Context, p logicalPacket) ([]datapathTrace, error) {
	text, err := f.run(ctx, p.command(false)...)
	if err != nil {
		return nil, err
	}
	t := parseTrace(text)
	if len(t) == 0 {
		return nil, errors.New("ovn-trace printed nothing that can be read")
	}
	balancing, endpoints := t[0].balancing()
	if p.balanced == "" || len(endpoints) < 2 || !slices.Contains(endpoints, p.balanced) {
		return t, nil
	}
	if text, err = f.run(ctx, p.command(true)...); err != nil {
		return nil, err
	}
	if again := parseTrace(text); len(again) > 0 {
		again[0].flows = append([]logicalFlow{balancing}, again[0].flows...)
		return again, nil
	}
	return t, nil
}

// ruleOf names the access rule that a flow is made of; empty if it is made of none.
func (f *follower) ruleOf(ctx context.Context, l logicalFlow) (string, error) {
	hint, err := f.run(ctx, "ovn-sbctl", "--no-leader-only", "--db=unix:"+agentconfig.SouthSocket, "--timeout=10", "--if-exists", "get", "Logical_Flow", l.uuid, "external_ids:stage-hint")
	if err != nil {
		return "", err
	}
	row := strings.Trim(strings.TrimSpace(hint), `"`)
	if row == "" {
		return "", nil
	}
	key, err := f.run(ctx, "ovn-nbctl", "--no-leader-only", "--db=unix:"+agentconfig.NorthSocket, "--timeout=10", "--if-exists", "get", "ACL", row, "external_ids:cno-key")
	if err != nil {
		return "", err
	}
	if key = strings.Trim(strings.TrimSpace(key), `"`); key == "" {
		return "", nil
	}
	return topology.Explain(key), nil
}

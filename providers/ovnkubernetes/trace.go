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

// Carries describes how the network transports packets.
func (OVNKubernetes) Carries(spec *operatorv1.NetworkSpec) provider.Carriage {
	port := uint32(defaultGenevePort)
	if p := settings(spec).GenevePort; p != nil {
		port = *p
	}
	return provider.Carriage{
		Between:        fmt.Sprintf("Geneve, UDP port %d", port),
		Translates:     "OVN's load balancer on the switch of the client's node",
		NodeTranslates: "kube-proxy on the node of the client",
		Leaves:         "masquerades the packet with its own address",
		Reserved:       []string{"the router", "the management port of the node"},
	}
}

// Trace traces the packet and its reply through the logical network with ovn-trace on the leading master, and names the decisive access rules.
func (OVNKubernetes) Trace(ctx context.Context, at provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	if at.Run == nil {
		return nil, nil
	}
	f := tracer{access: at, packet: p}
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

// tracer traces one packet.
type tracer struct {
	access   provider.TraceAccess
	packet   provider.TracePacket
	leader   string
	from, to logicalEnd
}

// logicalEnd is the point where a packet enters or leaves the logical network.
type logicalEnd struct {
	node, port string
	mac, via   net.HardwareAddr // via is the router's MAC address on the switch of the node
	address    netip.Addr
	// onSwitch is true if the address belongs to the port itself.
	onSwitch bool
}

// prepare finds the leading master and both logical ends.
func (f *tracer) prepare(ctx context.Context) error {
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

// leaderOf returns the node of the leading master.
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

// end returns the logical end of an end. An end that is not a pod uses the management port of a node: a node its own, and everything else that of the client's
// node.
func (f *tracer) end(ctx context.Context, e provider.TraceEnd, exit string) (logicalEnd, error) {
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
		return out, fmt.Errorf("node %s has no annotation %s: the master has not assigned a block to it", out.node, topology.NodeSubnets)
	}
	blocks, err := topology.DecodeNodeSubnets(value)
	if err != nil {
		return out, fmt.Errorf("node %s: %w", out.node, err)
	}
	first := blocks[0] // it determines the hardware addresses
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
		return out, fmt.Errorf("pod %s has no annotation %s: the master has not assigned an address to it", e.Pod, topology.PodNetworks)
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
	// states are the connection tracking states. balanced is the endpoint that a load balancer chooses; empty if there is none.
	states, balanced string
}

// clientPort is the source port of the traced connection. No rule matches it.
const clientPort = 40000

func (f *tracer) request() logicalPacket {
	p := logicalPacket{from: f.from, to: f.packet.To.Address, protocol: strings.ToLower(string(f.packet.Protocol)), source: clientPort, destination: f.packet.Port, states: "new"}
	p.next = f.nextHop(f.from, f.to, p.to)
	// OVN translates Services for pods. For nodes, kube-proxy has translated the packet before it arrives here.
	if f.packet.Service.IsValid() && f.packet.From.IsPod() {
		p.balanced = netip.AddrPortFrom(p.to, p.destination).String()
		p.to, p.destination, p.next = f.packet.Service.Addr(), f.packet.Service.Port(), f.from.via
	}
	return p
}

func (f *tracer) reply() logicalPacket {
	from := f.to
	if !f.packet.To.IsPod() {
		from.address = f.packet.To.Address
	}
	return logicalPacket{
		from: from, to: f.from.address, next: f.nextHop(f.to, f.from, f.from.address), protocol: strings.ToLower(string(f.packet.Protocol)),
		source: f.packet.Port, destination: clientPort, states: "est,rpl",
	}
}

// nextHop returns the destination MAC address: that of a port of the same switch, or the router's.
func (f *tracer) nextHop(from, to logicalEnd, destination netip.Addr) net.HardwareAddr {
	if from.node == to.node && to.onSwitch && to.address == destination && from.port != to.port {
		return to.mac
	}
	return from.via
}

// expression returns the packet in the language of ovn-trace.
func (p logicalPacket) expression() string {
	ip := "ip4"
	if p.to.Is6() {
		ip = "ip6"
	}
	return fmt.Sprintf("inport == %q && eth.src == %s && eth.dst == %s && %s.src == %s && %s.dst == %s && ip.ttl == 64 && %s.src == %d && %s.dst == %d",
		p.from.port, p.from.mac, p.next, ip, p.from.address, ip, p.to, p.protocol, p.source, p.protocol, p.destination)
}

// maxTrackings is the maximum number of connection tracking lookups of a packet.
const maxTrackings = 8

// command returns the ovn-trace command. chosen forces its load balancers to choose the endpoint of the packet.
func (p logicalPacket) command(chosen bool) []string {
	out := []string{"ovn-trace", "--no-leader-only", "--db=unix:" + agentconfig.SouthSocket, "--detailed"}
	for range maxTrackings {
		out = append(out, "--ct="+p.states)
	}
	if chosen {
		out = append(out, "--lb-dst="+p.balanced)
	}
	return append(out, topology.Switch(p.from.node), p.expression())
}

// run runs a command on the leading master.
func (f *tracer) run(ctx context.Context, command ...string) (string, error) {
	return f.access.Run(ctx, provider.TraceCommand{
		Namespace: agentconfig.Namespace, App: masterName, Node: f.leader, Container: agentconfig.CommandMaster, Command: command,
	})
}

// bindings returns a step for each end whose port is not connected to its node.
func (f *tracer) bindings(ctx context.Context) ([]provider.TraceStep, error) {
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

// trace runs ovn-trace and names the decisive rules.
func (f *tracer) trace(ctx context.Context, p logicalPacket) ([]provider.TraceStep, error) {
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

// datapaths runs ovn-trace. ovn-trace chooses an endpoint of a load balancer at random; if it may be another one, it runs again with the endpoint of the
// packet.
func (f *tracer) datapaths(ctx context.Context, p logicalPacket) ([]datapathTrace, error) {
	text, err := f.run(ctx, p.command(false)...)
	if err != nil {
		return nil, err
	}
	t := parseTrace(text)
	if len(t) == 0 {
		return nil, errors.New("cannot parse the output of ovn-trace")
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

// ruleOf returns the description of the access rule of a flow; empty if it has none.
func (f *tracer) ruleOf(ctx context.Context, l logicalFlow) (string, error) {
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

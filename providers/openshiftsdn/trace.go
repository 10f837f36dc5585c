package openshiftsdn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

var _ provider.Tracer = OpenShiftSDN{}

// Carries describes how the network transports packets.
func (OpenShiftSDN) Carries(spec *operatorv1.NetworkSpec) provider.Carriage {
	port := uint32(defaultPort)
	if p := settings(spec).VXLANPort; p != nil {
		port = *p
	}
	c := provider.Carriage{
		Between:    fmt.Sprintf("VXLAN, UDP port %d", port),
		Translates: "kube-proxy on the node of the client",
		Leaves:     "masquerades the packet with its own address, unless the namespace has egress IPs",
		Reserved:   []string{"the interface tun0 of the node", "packets from outside the cluster"},
	}
	m := mode(spec)
	c.Unenforced = unenforced(m)
	if m == osv1.SDNModeMultitenant {
		c.Isolation = "mode Multitenant connects only namespaces of the same VNID"
	}
	return c
}

func mode(spec *operatorv1.NetworkSpec) osv1.SDNMode {
	return cmp.Or(canonicalMode(settings(spec).Mode), defaultMode)
}

// unenforced returns a sentence about why NetworkPolicies have no effect in a mode; empty if they are enforced.
func unenforced(m osv1.SDNMode) string {
	if m == osv1.SDNModeNetworkPolicy {
		return ""
	}
	return fmt.Sprintf("NetworkPolicies are not enforced in mode %s", m)
}

// Trace traces the packet and its reply through the bridges of the nodes with ofproto/trace, and names the decisive flows by their notes. Without at.Run it
// only compares VNIDs in mode Multitenant.
func (OpenShiftSDN) Trace(ctx context.Context, at provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	if at.Run == nil {
		return isolation(ctx, at, p)
	}
	if p.From.Address.Is6() || p.To.Address.Is6() {
		return nil, errors.New("the network has no IPv6")
	}
	f := tracer{access: at, packet: p, notes: map[string]map[uint64]string{}}
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	passes, err := f.request(ctx)
	if err == nil && passes {
		f.inReply = true
		err = f.reply(ctx)
	}
	return f.steps, err
}

// isolation compares the VNIDs of two pods in mode Multitenant.
func isolation(ctx context.Context, at provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	if mode(at.Spec) != osv1.SDNModeMultitenant || !p.From.IsPod() || !p.To.IsPod() {
		return nil, nil
	}
	from, err := vnidOf(ctx, at.Objects, p.From.Pod.Namespace)
	if err != nil {
		return nil, err
	}
	to, err := vnidOf(ctx, at.Objects, p.To.Pod.Namespace)
	if err != nil {
		return nil, err
	}
	step := provider.TraceStep{Where: "virtual networks", What: fmt.Sprintf("namespace %s has VNID %d, and %s has %d", p.From.Pod.Namespace, from, p.To.Pod.Namespace, to)}
	if from != to && from != flows.Global && to != flows.Global {
		step.Stops = true
		step.What += ": their pods are not connected"
	}
	return []provider.TraceStep{step}, nil
}

// read reads an object of the group network.openshift.io.
func read(ctx context.Context, r client.Reader, kind, name string, into any) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(sdnv1.GroupVersion.WithKind(kind))
	if err := r.Get(ctx, client.ObjectKey{Name: name}, u); apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s does not exist: the controller has not created it yet", kind, name)
	} else if err != nil {
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	return nil
}

func vnidOf(ctx context.Context, r client.Reader, namespace string) (uint32, error) {
	var n sdnv1.NetNamespace
	err := read(ctx, r, "NetNamespace", namespace, &n)
	return n.NetID, err
}

// tracer traces one packet.
type tracer struct {
	access provider.TraceAccess
	packet provider.TracePacket
	// from and to are the nodes of the two ends; to equals from if the destination is not a pod.
	from, to endpoint
	notes    map[string]map[uint64]string
	// inReply is true while the reply is traced.
	inReply bool
	steps   []provider.TraceStep
}

// endpoint is a node with its tunnel address and block.
type endpoint struct {
	name    string
	address netip.Addr
	block   netip.Prefix
}

func (f *tracer) prepare(ctx context.Context) (err error) {
	if f.from, err = f.endpoint(ctx, f.packet.From.Node); err != nil {
		return err
	}
	f.to = f.from
	if f.packet.To.IsPod() {
		f.to, err = f.endpoint(ctx, f.packet.To.Node)
	}
	return err
}

func (f *tracer) endpoint(ctx context.Context, node string) (endpoint, error) {
	var h sdnv1.HostSubnet
	if err := read(ctx, f.access.Objects, "HostSubnet", node, &h); err != nil {
		return endpoint{}, err
	}
	address, err := netip.ParseAddr(h.HostIP)
	if err != nil {
		return endpoint{}, fmt.Errorf("HostSubnet %s: %q is not an address", node, h.HostIP)
	}
	block, err := netip.ParsePrefix(h.Subnet)
	if err != nil {
		return endpoint{}, fmt.Errorf("HostSubnet %s: %q is not a block", node, h.Subnet)
	}
	return endpoint{node, address, block}, nil
}

// run runs a command in the agent container on a node.
func (f *tracer) run(ctx context.Context, node string, command ...string) (string, error) {
	return f.access.Run(ctx, provider.TraceCommand{Namespace: agentconfig.Namespace, App: agentconfig.Node, Node: node, Container: agentconfig.Node, Command: command})
}

// port returns the number of a pod's port in the bridge of its node.
func (f *tracer) port(ctx context.Context, at endpoint, a netip.Addr) (uint32, error) {
	out, err := f.run(ctx, at.name, "ovs-vsctl", "--db=unix:"+agentconfig.SwitchSocket, "--timeout=10", "--bare", "--columns=ofport", "find", "Interface", "external_ids:ip="+a.String())
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if err != nil || n == 0 {
		f.add(at.name, true, fmt.Sprintf("no port of bridge %s has the address %s: the agent has not attached the pod", agentconfig.Bridge, a), nil)
		return 0, errNotAttached
	}
	return uint32(n), nil
}

var errNotAttached = errors.New("the pod is not attached")

func (f *tracer) add(node string, stops bool, what string, decisive []string) {
	f.steps = append(f.steps, provider.TraceStep{Reply: f.inReply, Where: "bridge " + agentconfig.Bridge + " of node " + node, Stops: stops, What: what, Flows: decisive})
}

// notesOf returns the flow notes that the agent of a node has stored.
func (f *tracer) notesOf(ctx context.Context, node string) (map[uint64]string, error) {
	if known, ok := f.notes[node]; ok {
		return known, nil
	}
	out, err := f.run(ctx, node, "cat", agentconfig.StateDir+"/"+agentconfig.NotesFile)
	if err != nil {
		return nil, err
	}
	notes, err := agentconfig.DecodeNotes([]byte(out))
	if err == nil {
		f.notes[node] = notes
	}
	return notes, err
}

// trace runs ofproto/trace for a packet on the bridge of a node.
func (f *tracer) trace(ctx context.Context, at endpoint, packet string) (openflow.Trace, error) {
	notes, err := f.notesOf(ctx, at.name)
	if err != nil {
		return openflow.Trace{}, err
	}
	out, err := f.run(ctx, at.name, "ovs-appctl", "--target="+agentconfig.SwitchControl, "--timeout=10", "ofproto/trace", agentconfig.Bridge, packet)
	if err != nil {
		return openflow.Trace{}, err
	}
	return openflow.ParseTrace(out, openflow.Set{}.WithNotes(notes)), nil
}

func hostSubnets(ctx context.Context, r client.Reader) ([]sdnv1.HostSubnet, error) {
	return listOf[sdnv1.HostSubnet](ctx, r, "HostSubnet")
}

package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Cluster is the cluster in which packets are traced.
type Cluster struct {
	// Objects reads the cluster.
	Objects client.Reader
	// Spec is the filled specification of the network.
	Spec *operatorv1.NetworkSpec
	// Tracer is that of the network; nil for one that a third party installs.
	Tracer provider.Tracer
	// Run runs a command in a pod of the network; nil if that is not possible.
	Run func(ctx context.Context, c provider.TraceCommand) (string, error)
	// NoPolicies is the reason why NetworkPolicies cannot be evaluated; empty if they can.
	NoPolicies string
	// Lookup resolves DNS names; nil if that is not possible.
	Lookup Lookup
}

// tracing is the state of one trace.
type tracing struct {
	Cluster
	snapshot
	carriage provider.Carriage
	question Question
	packet   provider.TracePacket
	from, to *corev1.Pod // to is nil if the destination is no pod
	answer   Answer
}

// Trace traces the packet of a question.
func Trace(ctx context.Context, c Cluster, q Question) (Answer, error) {
	if q.Protocol != "" && !slices.Contains(Protocols, q.Protocol) {
		return Answer{}, fmt.Errorf("%w: protocol %q is not TCP, UDP or SCTP", ErrQuestion, q.Protocol)
	}
	if strings.Count(q.From, "/") != 1 {
		return Answer{}, fmt.Errorf("%w: %q is no source: write NAMESPACE/POD", ErrQuestion, q.From)
	}
	w, err := load(ctx, c.Objects)
	if err != nil {
		return Answer{}, err
	}
	if c.NoPolicies != "" {
		w.noPolicies = c.NoPolicies
	}
	t := &tracing{Cluster: c, snapshot: w, question: q, answer: Answer{Network: string(c.Spec.DefaultNetwork.Type), Request: []Step{}, Reply: []Step{}, Notes: []string{}}}
	if c.Tracer != nil {
		t.carriage = c.Tracer.Carries(c.Spec)
	} else {
		t.note("the network %s is installed by a third party: whether it enforces NetworkPolicies, and what it does on nodes, is not known", t.answer.Network)
	}
	if t.noPolicies != "" {
		t.note("%s", t.noPolicies)
	}
	if t.from = w.pod(q.From); t.from == nil {
		return Answer{}, fmt.Errorf("there is no pod %q%s: %w", q.From, w.near(q.From), ErrUnknown)
	}
	if err := t.ends(ctx); err != nil {
		return Answer{}, err
	}
	t.answer.Protocol, t.answer.Port = t.packet.Protocol, t.packet.Port
	if s := t.answer.Service; s == nil || len(s.Endpoints) > 0 {
		t.request()
		t.installed(ctx)
	}
	if !stops(t.answer.Request, false) && !stops(t.answer.Request, true) {
		installed := t.answer.Reply
		t.answer.Reply = []Step{}
		t.reply()
		t.answer.Reply = append(t.answer.Reply, installed...)
	}
	t.answer.conclude()
	return t.answer, nil
}

func (t *tracing) note(format string, args ...any) {
	t.answer.Notes = append(t.answer.Notes, fmt.Sprintf(format, args...))
}

func (t *tracing) add(where string, ok bool, format string, args ...any) *Step {
	t.answer.Request = append(t.answer.Request, Step{Where: where, OK: ok, What: fmt.Sprintf(format, args...)})
	return &t.answer.Request[len(t.answer.Request)-1]
}

func (t *tracing) back(where, format string, args ...any) {
	t.answer.Reply = append(t.answer.Reply, Step{Where: where, OK: true, What: fmt.Sprintf(format, args...)})
}

// ends finds both ends of the connection, and adds the steps that lead to them.
func (t *tracing) ends(ctx context.Context) error {
	families := addressesOf(t.from)
	to, err := t.resolve(ctx, t.question.To, t.Lookup, families)
	if err != nil {
		return err
	}
	t.answer.Notes = append(t.answer.Notes, to.notes...)
	if to.service != nil {
		if families, err = t.familiesOf(to, families); err != nil {
			return err
		}
	} else if to.address.IsValid() {
		families = like(families, to.address)
	} else if to.pod != nil && len(addressesOf(to.pod)) > 0 {
		families = slices.DeleteFunc(families, func(a netip.Addr) bool { return len(like(addressesOf(to.pod), a)) == 0 })
	}
	t.packet.From = provider.TraceEnd{Node: t.from.Spec.NodeName}
	if !t.from.Spec.HostNetwork {
		t.packet.From.Pod = types.NamespacedName{Namespace: t.from.Namespace, Name: t.from.Name}
	}
	if len(families) > 0 {
		t.packet.From.Address = families[0]
	}
	t.answer.From = endOf(t.from, t.packet.From.Address)
	t.add("pod "+t.question.From, t.packet.From.Address.IsValid() && t.from.Status.Phase == corev1.PodRunning, "%s", phase(t.from, t.packet.From.Address))
	switch {
	case to.service != nil:
		return t.toService(ctx, to)
	case to.pod != nil:
		return t.toPod(to)
	default:
		return t.toAddress(to)
	}
}

// like returns the addresses of the same family as another one.
func like(addresses []netip.Addr, other netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return a.Is4() != other.Is4() })
}

// familiesOf returns the client's addresses of the IP families of a Service.
func (t *tracing) familiesOf(to target, families []netip.Addr) ([]netip.Addr, error) {
	if to.address.IsValid() {
		return like(families, to.address), nil
	}
	virtual := virtualAddresses(to.service)
	if len(virtual) == 0 {
		what := "is headless: its name stands for the addresses of its pods"
		if to.service.Spec.Type == corev1.ServiceTypeExternalName {
			what = "is an alias of the DNS name " + to.service.Spec.ExternalName
		}
		return nil, fmt.Errorf("%w: Service %s/%s %s; trace to one of those", ErrQuestion, to.service.Namespace, to.service.Name, what)
	}
	return slices.DeleteFunc(slices.Clone(families), func(a netip.Addr) bool { return len(like(virtual, a)) == 0 }), nil
}

func (t *tracing) toPod(to target) error {
	t.to = to.pod
	port, protocol, err := to.portOf(t.question)
	if err != nil {
		return err
	}
	t.packet.Port, t.packet.Protocol = port, protocol
	address := to.address
	if !address.IsValid() && t.packet.From.Address.IsValid() {
		if same := like(addressesOf(to.pod), t.packet.From.Address); len(same) > 0 {
			address = same[0]
		}
	}
	t.destination(to.pod, address)
	return nil
}

// destination sets a pod as the destination.
func (t *tracing) destination(p *corev1.Pod, address netip.Addr) {
	t.to = p
	t.packet.To = provider.TraceEnd{Node: p.Spec.NodeName, Address: address}
	if !p.Spec.HostNetwork {
		t.packet.To.Pod = types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	}
	t.answer.To = endOf(p, address)
}

func (t *tracing) toAddress(to target) error {
	port, protocol, err := to.portOf(t.question)
	if err != nil {
		return err
	}
	t.packet.Port, t.packet.Protocol = port, protocol
	t.outside(to.address)
	return nil
}

// outside sets an address of a node, or one outside of the cluster, as the destination.
func (t *tracing) outside(a netip.Addr) {
	t.packet.To = provider.TraceEnd{Address: a}
	t.answer.To = End{Kind: KindOutside, Address: a.String()}
	if n := t.snapshot.node(a); n != nil {
		t.packet.To.Node = n.Name
		t.answer.To = End{Kind: KindNode, Name: n.Name, Node: n.Name, Address: a.String()}
	}
}

func endOf(p *corev1.Pod, a netip.Addr) End {
	e := End{Kind: KindPod, Name: p.Namespace + "/" + p.Name, Node: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork}
	if a.IsValid() {
		e.Address = a.String()
	}
	return e
}

func phase(p *corev1.Pod, a netip.Addr) string {
	text := "is " + string(p.Status.Phase)
	if p.Spec.NodeName != "" {
		text += " on node " + p.Spec.NodeName
	}
	switch {
	case !a.IsValid() && len(addressesOf(p)) == 0:
		text += ", without an address"
	case !a.IsValid():
		text += fmt.Sprintf(", and has no address of the IP family of the other end, only %v", addressesOf(p))
	default:
		text += " with " + a.String()
	}
	if p.Spec.HostNetwork {
		text += ", on the network of its node: NetworkPolicies do not apply to it"
	}
	return text
}

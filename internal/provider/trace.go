package provider

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Tracer is a provider that explains what its network does with a packet.
type Tracer interface {
	// Carries says how a network with a filled specification carries packets. It is pure.
	Carries(spec *operatorv1.NetworkSpec) Carriage
	// Follow returns what the network does with the first packet of a connection, and with its reply, beyond what NetworkPolicies say: by
	// objects of its own, and by commands in its pods. Without TraceAccess.Run it uses objects only. An error means that the
	// question could not be answered; the steps that were found until then are returned with it.
	Follow(ctx context.Context, at TraceAccess, p TracePacket) ([]TraceStep, error)
}

// Carriage is how a network carries packets, as parts of sentences.
type Carriage struct {
	// Unenforced, if not empty, is a sentence that says why NetworkPolicies have no effect.
	Unenforced string
	// Isolation, if not empty, is a clause that says why pods do not reach pods and Services of other namespaces, and not those through
	// their own node either: "namespaces have different VNIDs". It is empty for networks that connect all namespaces.
	Isolation string
	// Between is how a packet gets to another node: "VXLAN, UDP port 4789".
	Between string
	// Translates is what replaces the address of a Service by that of an endpoint on the node of the client: "kube-proxy".
	Translates string
	// Leaves is what the node of a pod does with a packet to an address outside of the cluster: "masquerades it with the address of the node".
	Leaves string
}

// TraceAccess is what a Tracer or an Examiner may use.
type TraceAccess struct {
	// Objects reads the cluster.
	Objects client.Reader
	// Spec is the filled specification.
	Spec *operatorv1.NetworkSpec
	// Run runs a command in a pod of the network, and returns its standard output. It is nil where commands cannot be run.
	Run func(ctx context.Context, c TraceCommand) (string, error)
}

// TraceCommand is a command in a container of an operand. It changes nothing.
type TraceCommand struct {
	// Namespace and App, the label "app", select the pod, together with Node.
	Namespace, App, Node string
	Container            string
	Command              []string
}

// TracePacket is the first packet of a connection. Addresses and Port are those after the translation of Services.
type TracePacket struct {
	From, To TraceEnd
	Protocol corev1.Protocol
	Port     uint16
	// Service is the address and port of the Service that the client uses, invalid if it uses none.
	Service netip.AddrPort
}

// TraceEnd is one end of a connection.
type TraceEnd struct {
	// Pod is empty for what is no pod of the pod network: a node, a pod on the network of its node, or an address outside of the cluster.
	Pod types.NamespacedName
	// Node is the node of the pod, or the node itself; empty for an address outside of the cluster.
	Node    string
	Address netip.Addr
}

// IsPod reports whether the end is a pod of the pod network.
func (e TraceEnd) IsPod() bool { return e.Pod.Name != "" }

// TraceStep is one place that a packet passes, and what happens there.
type TraceStep struct {
	// Reply is true for a step of the reply.
	Reply bool
	// Where is the place: "node worker-0".
	Where string
	// Stops is true if the packet does not get further.
	Stops bool
	// What is what happens, as a clause.
	What string
	// Flows are what decides there, in the words of the network.
	Flows []string
}

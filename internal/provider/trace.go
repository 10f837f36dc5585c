package provider

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Tracer is a provider that traces packets through its network.
type Tracer interface {
	// Carries describes how a network with a filled specification carries packets. It is pure.
	Carries(spec *operatorv1.NetworkSpec) Carriage
	// Trace traces the first packet of a connection and its reply through the network, beyond the decisions of NetworkPolicies: by its
	// own objects, and by commands in its pods. Without TraceAccess.Run it uses only objects. With an error it returns the steps that
	// were found before.
	Trace(ctx context.Context, at TraceAccess, p TracePacket) ([]TraceStep, error)
}

// Carriage describes how a network carries packets, as parts of sentences.
type Carriage struct {
	// Unenforced, if not empty, is a sentence about why NetworkPolicies have no effect.
	Unenforced string
	// Isolation, if not empty, is a clause about why pods cannot reach pods and Services of other namespaces, not even through
	// their own node: "namespaces have different VNIDs". It is empty for networks that connect all namespaces.
	Isolation string
	// Between is the transport to another node: "VXLAN, UDP port 4789".
	Between string
	// Translates is the component that translates the address of a Service to that of an endpoint on the node of the client: "kube-proxy".
	Translates string
	// NodeTranslates is the component that does so for clients on the network of a node, and for pods that use an address of a load balancer whose Service has
	// loadBalancerSourceRanges: those packets leave the pod network with the address of the Service. It is empty if Translates does it for all clients.
	NodeTranslates string
	// Leaves is the action of a pod's node on a packet to an address outside of the cluster: "masquerades it with the address of the node".
	Leaves string
	// Reserved are the addresses of a node's block that no pod gets, in the order of the addresses from the second on: "the gateway of pods". The first
	// address of a block, and the last of an IPv4 block, are never given to pods and not listed. It is nil if unknown.
	Reserved []string
}

// TraceAccess is the access of a Tracer or an Examiner to the cluster.
type TraceAccess struct {
	// Objects reads the cluster.
	Objects client.Reader
	// Spec is the filled specification.
	Spec *operatorv1.NetworkSpec
	// Run runs a command in a pod of the network and returns its standard output. It is nil if commands cannot be run.
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
	// Service is the address and port of the Service that the client uses; invalid if it uses none.
	Service netip.AddrPort
}

// TraceEnd is one end of a connection.
type TraceEnd struct {
	// Pod is empty for an end that is no pod of the pod network: a node, a pod on the host network, or an address outside of the cluster.
	Pod types.NamespacedName
	// Node is the node of the pod, or the node itself; empty for an address outside of the cluster.
	Node    string
	Address netip.Addr
}

// IsPod reports whether the end is a pod of the pod network.
func (e TraceEnd) IsPod() bool { return e.Pod.Name != "" }

// TraceStep is one step of a packet's path.
type TraceStep struct {
	// Reply is true for a step of the reply.
	Reply bool
	// Where is the place: "node worker-0".
	Where string
	// Stops is true if the packet is dropped.
	Stops bool
	// What describes the step as a clause.
	What string
	// Flows are the deciding flows in the notation of the network.
	Flows []string
}

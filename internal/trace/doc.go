// Package trace explains what becomes of a packet: which address a Service is translated to, which NetworkPolicy decides, by which nodes the
// packet goes, and what its reply does. The part here is the same for every network and needs objects only; a network adds what
// it has installed itself (provider.Tracer).
package trace

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ErrQuestion is wrapped by the error of a question that cannot be answered as it was put, ErrUnknown by that of one about an object that does
// not exist.
var (
	ErrQuestion = errors.New("the question is not complete")
	ErrUnknown  = errors.New("not found")
)

// Question asks for the way of the first packet of a connection.
type Question struct {
	// From is a pod: namespace/name.
	From string
	// To is a pod or a Service, namespace/name, pod/namespace/name or service/namespace/name, an address, or a DNS name; each may end with a
	// port, ":80" or, of a Service, ":http".
	To string
	// Protocol is TCP, UDP or SCTP; empty is that of the Service's port, or TCP.
	Protocol corev1.Protocol
	// Port is that of the destination; 0 is the one in To, or the only one that a Service or the containers of a pod have.
	Port uint16
}

// Protocols are those that can be asked about.
var Protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}

// The kinds of ends.
const (
	KindPod     = "pod"
	KindNode    = "node"
	KindOutside = "address"
)

// End is one end of a connection.
type End struct {
	Kind string `json:"kind"`
	// Name is namespace/name of a pod, and the name of a node; empty for an address.
	Name string `json:"name,omitempty"`
	// Node is the pod's node.
	Node    string `json:"node,omitempty"`
	Address string `json:"address"`
	// HostNetwork is true for a pod on the network of its node.
	HostNetwork bool `json:"hostNetwork,omitempty"`
}

func (e End) String() string {
	if e.Name == "" {
		return e.Kind + " " + e.Address
	}
	return e.Kind + " " + e.Name
}

// Service is the Service that the client uses.
type Service struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    uint16 `json:"port"`
	// Endpoints are those of the port, of which Refused are stopped by a NetworkPolicy.
	Endpoints []string `json:"endpoints"`
	Refused   []string `json:"refused,omitempty"`
}

// Step is one place on the way.
type Step struct {
	Where string `json:"where"`
	// OK is false if the step stops the packet.
	OK   bool   `json:"ok"`
	What string `json:"what"`
	// Installed is true for what the network has installed, and false for what objects of the cluster say.
	Installed bool `json:"installed,omitempty"`
	// Flows are what decides, in the words of the network.
	Flows []string `json:"flows,omitempty"`
}

// Answer is the way of a packet, and of its reply.
type Answer struct {
	// Network is the type of the cluster's network.
	Network  string          `json:"network"`
	From     End             `json:"from"`
	To       End             `json:"to"`
	Service  *Service        `json:"service,omitempty"`
	Protocol corev1.Protocol `json:"protocol"`
	// Port is that of the destination after the translation of the Service.
	Port uint16 `json:"port"`
	// Passes is false if a step of the request or of the reply stops the packet. Result says so in a sentence, with the step.
	Passes  bool   `json:"passes"`
	Result  string `json:"result"`
	Request []Step `json:"request"`
	Reply   []Step `json:"reply"`
	// Notes are sentences, for example about what could not be looked at.
	Notes []string `json:"notes"`
}

// conclude sets Passes and Result.
func (a *Answer) conclude() {
	a.Passes, a.Result = true, "the packet and its reply pass"
	for _, part := range []struct {
		name  string
		steps []Step
	}{{"packet", a.Request}, {"reply", a.Reply}} {
		for _, s := range part.steps {
			if !s.OK && a.Passes {
				a.Passes, a.Result = false, fmt.Sprintf("the %s is stopped: %s: %s", part.name, s.Where, s.What)
			}
		}
	}
	if objects, installed := stops(a.Request, false), stops(a.Request, true); objects != installed && has(a.Request, true) {
		if installed {
			a.Notes = append(a.Notes, "the objects of the cluster let the packet pass, and what the network has installed does not: either a setting of the network stops it, which the step names, or the change has not reached the node yet; see cno doctor")
		} else {
			a.Notes = append(a.Notes, "what the network has installed does not stop the packet at the step that the objects name")
		}
	}
}

func stops(steps []Step, installed bool) bool {
	for _, s := range steps {
		if s.Installed == installed && !s.OK {
			return true
		}
	}
	return false
}

func has(steps []Step, installed bool) bool {
	for _, s := range steps {
		if s.Installed == installed {
			return true
		}
	}
	return false
}

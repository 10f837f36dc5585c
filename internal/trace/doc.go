// Package trace traces a packet and its reply: the address to which a Service is translated, the NetworkPolicy that decides, and the nodes
// on the path. This package uses only objects and is independent of the network; a network adds steps from its own state
// (provider.Tracer).
package trace

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ErrQuestion is wrapped by the error of an invalid question, ErrUnknown by that of a question about an object that does not exist.
var (
	ErrQuestion = errors.New("the question is not complete")
	ErrUnknown  = errors.New("not found")
)

// Question is a request to trace the first packet of a connection.
type Question struct {
	// From is a pod: namespace/name.
	From string
	// To is a pod or a Service, namespace/name, pod/namespace/name or service/namespace/name, an address, or a DNS name; each may end with a
	// port, ":80" or, of a Service, ":http".
	To string
	// Protocol is TCP, UDP or SCTP; empty means that of the Service's port, or TCP.
	Protocol corev1.Protocol
	// Port is that of the destination; 0 means the one in To, or the only one of a Service or of the containers of a pod.
	Port uint16
}

// Protocols are the supported protocols.
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
	// Name is namespace/name of a pod, or the name of a node; empty for an address.
	Name string `json:"name,omitempty"`
	// Node is the pod's node.
	Node    string `json:"node,omitempty"`
	Address string `json:"address"`
	// HostNetwork is true for a pod on the host network.
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
	// Endpoints are those of the port. NetworkPolicies deny those in Refused.
	Endpoints []string `json:"endpoints"`
	Refused   []string `json:"refused,omitempty"`
}

// Step is one step of the path.
type Step struct {
	Where string `json:"where"`
	// OK is false if the step stops the packet.
	OK   bool   `json:"ok"`
	What string `json:"what"`
	// Installed is true for a step from the state of the network, and false for one from objects of the cluster.
	Installed bool `json:"installed,omitempty"`
	// Flows are the deciding flows in the notation of the network.
	Flows []string `json:"flows,omitempty"`
}

// Answer is the path of a packet and of its reply.
type Answer struct {
	// Network is the type of the cluster's network.
	Network  string          `json:"network"`
	From     End             `json:"from"`
	To       End             `json:"to"`
	Service  *Service        `json:"service,omitempty"`
	Protocol corev1.Protocol `json:"protocol"`
	// Port is that of the destination after the translation of the Service.
	Port uint16 `json:"port"`
	// Passes is false if a step of the request or of the reply drops the packet. Result is a sentence with the result and the step.
	Passes  bool   `json:"passes"`
	Result  string `json:"result"`
	Request []Step `json:"request"`
	Reply   []Step `json:"reply"`
	// Notes are sentences, for example about objects that could not be read.
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

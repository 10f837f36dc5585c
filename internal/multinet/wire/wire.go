// Package wire is what the shim multus-shim and the daemon of a node say to one another, inside the messages of package cniproto: before the
// first plugin runs, the shim asks for a plan; afterwards it reports what the plugins returned, or why one failed. The package is pure.
package wire

import (
	"encoding/json"
	"net/netip"
	"time"
)

// The commands of the requests, in the field Command of cniproto.Request.
const (
	CommandPlan   = "PLAN"
	CommandReport = "REPORT"
	// CommandRemoved says how long the removal of a sandbox took. Nothing waits for its answer.
	CommandRemoved = "REMOVED"
	// CommandPolicies has the rules of MultiNetworkPolicies written into the network namespace of a sandbox that has a record.
	CommandPolicies = "POLICIES"
	// CommandCheckPolicies compares these rules with the policies. Rules that another program has changed are an error.
	CommandCheckPolicies = "CHECK-POLICIES"
)

// The annotations of pods.
const (
	// AnnotationNetworks asks for further networks.
	AnnotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// AnnotationDefault asks for another default network.
	AnnotationDefault = "v1.multus-cni.io/default-network"
	// AnnotationStatus is what a pod got.
	AnnotationStatus = "k8s.v1.cni.cncf.io/network-status"
)

// Socket is where the daemon listens, and PolicySocket the one that writes the rules of policies, which answers CommandPolicies alone.
const (
	Socket       = "/run/cno/multus/cni.sock"
	PolicySocket = "/run/cno/multus-policy/cni.sock"
)

// Pod is the pod of a sandbox, as the runtime names it.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// PlanRequest asks what a pod gets besides its default network.
type PlanRequest struct {
	Pod Pod `json:"pod"`
	// Annotations are those that the runtime has passed; nil if it passes none.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Default is the name of the default network in the runtime's file.
	Default string `json:"default"`
}

// Plan is what a pod gets.
type Plan struct {
	// Default replaces the default network, if not nil. Its interface is the one that the runtime asks for.
	Default *Attachment `json:"default,omitempty"`
	// Attachments are the further networks in the order of the annotation.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Policies is true if the rules of MultiNetworkPolicies have to be written before the first plugin runs.
	Policies bool `json:"policies,omitempty"`
}

// PoliciesRequest names a sandbox whose record is on the disk.
type PoliciesRequest struct {
	Pod     Pod    `json:"pod"`
	Sandbox string `json:"sandbox"`
}

// Attachment is one network of a pod, complete: nothing else has to be read to attach and to detach it.
type Attachment struct {
	// Network is namespace/name of the NetworkAttachmentDefinition.
	Network   string `json:"network"`
	Interface string `json:"interface"`
	// List is the CNI configuration list.
	List json.RawMessage `json:"list"`
	// Runtime has the values of capabilities.
	Runtime map[string]any `json:"runtime,omitempty"`
	// DefaultRoute is true if the pod's default route is that of this network. With no Gateways it is the one that the network has itself.
	DefaultRoute bool         `json:"defaultRoute,omitempty"`
	Gateways     []netip.Addr `json:"gateways,omitempty"`
	// Resource is the name of the resource whose device the network uses; DeviceID the one that kubelet has given the pod.
	Resource string `json:"resource,omitempty"`
	DeviceID string `json:"deviceID,omitempty"`
}

// Report says what has become of a plan.
type Report struct {
	Pod Pod `json:"pod"`
	// Sandbox is the ID of the container, Default the name of the default network.
	Sandbox string `json:"sandbox"`
	Default string `json:"default"`
	// Networks are the default network and the further ones in their order, up to the one that failed.
	Networks []Network `json:"networks,omitempty"`
	// Failure is empty for a pod that has all its networks.
	Failure string `json:"failure,omitempty"`
}

// Network is an attachment that exists.
type Network struct {
	// Name is that of Attachment.Network, or the name of the default network.
	Name      string `json:"name"`
	Interface string `json:"interface"`
	Default   bool   `json:"default,omitempty"`
	// Result is the one of CNI, of version 1.0.0 or newer.
	Result json.RawMessage `json:"result"`
	// MTU is that of the interface in the pod; 0 if it is not known.
	MTU int `json:"mtu,omitempty"`
	// DeviceID is that of Attachment.
	DeviceID string `json:"deviceID,omitempty"`
	// DeviceInfo is what a device plugin or the CNI plugin knows of the device, in the form of the Device Information Specification.
	DeviceInfo json.RawMessage `json:"deviceInfo,omitempty"`
	// Took is how long its plugins ran.
	Took time.Duration `json:"took,omitempty"`
}

// Removal is what CommandRemoved says.
type Removal struct {
	Networks []Timing `json:"networks"`
}

// Timing is how long the plugins of a network ran.
type Timing struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
}

// Deadline is how long the daemon may take for either request.
const Deadline = 30 * time.Second

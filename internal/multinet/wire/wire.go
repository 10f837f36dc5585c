// Package wire defines the protocol between multus-shim and the daemon of a node, inside the messages of package cniproto. Before the first plugin runs,
// the shim requests a plan; afterwards it reports the results of the plugins, or a failure. The package is pure.
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
	// CommandRemoved reports the duration of a sandbox's removal. The shim does not depend on the response.
	CommandRemoved = "REMOVED"
	// CommandPolicies writes the rules of MultiNetworkPolicies to the network namespace of a sandbox that has a record.
	CommandPolicies = "POLICIES"
	// CommandCheckPolicies compares these rules with the policies. Rules that another program changed are an error.
	CommandCheckPolicies = "CHECK-POLICIES"
)

// The annotations of pods.
const (
	// AnnotationNetworks requests further networks.
	AnnotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// AnnotationDefault requests another default network.
	AnnotationDefault = "v1.multus-cni.io/default-network"
	// AnnotationStatus is the status of a pod's networks.
	AnnotationStatus = "k8s.v1.cni.cncf.io/network-status"
)

// Socket is the socket of the daemon, PolicySocket that of the daemon that writes the rules of policies.
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

// PlanRequest requests the further networks of a pod.
type PlanRequest struct {
	Pod Pod `json:"pod"`
	// Annotations are those that the runtime has passed; nil if it passes none.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Default is the name of the default network in the runtime's file.
	Default string `json:"default"`
}

// Plan has the networks of a pod.
type Plan struct {
	// Default replaces the default network, if not nil. Its interface is the one that the runtime requests, and it has no default route of the plan.
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

// Attachment is one network of a pod, with all data to attach and detach it.
type Attachment struct {
	// Network is namespace/name of the NetworkAttachmentDefinition.
	Network   string `json:"network"`
	Interface string `json:"interface"`
	// List is the CNI configuration list.
	List json.RawMessage `json:"list"`
	// Runtime has the values of capabilities.
	Runtime map[string]any `json:"runtime,omitempty"`
	// DefaultRoute is true if this network has the pod's default route. Without Gateways, the gateways are those of the network.
	DefaultRoute bool         `json:"defaultRoute,omitempty"`
	Gateways     []netip.Addr `json:"gateways,omitempty"`
	// Resource is the name of the resource whose device the network uses; DeviceID the device that kubelet allocated to the pod.
	Resource string `json:"resource,omitempty"`
	DeviceID string `json:"deviceID,omitempty"`
}

// Report is the result of a plan.
type Report struct {
	Pod Pod `json:"pod"`
	// Sandbox is the ID of the container, Default the name of the default network.
	Sandbox string `json:"sandbox"`
	Default string `json:"default"`
	// Networks are the default network and the further ones in their order, up to the one that failed.
	Networks []Network `json:"networks,omitempty"`
	// Failure is empty if the pod has all its networks.
	Failure string `json:"failure,omitempty"`
}

// Network is an existing attachment.
type Network struct {
	// Name is that of Attachment.Network, or the name of the default network.
	Name      string `json:"name"`
	Interface string `json:"interface"`
	Default   bool   `json:"default,omitempty"`
	// Result is the one of CNI, of version 1.0.0 or newer.
	Result json.RawMessage `json:"result"`
	// MTU is the MTU of the interface in the pod; 0 if unknown.
	MTU int `json:"mtu,omitempty"`
	// DeviceID is that of Attachment.
	DeviceID string `json:"deviceID,omitempty"`
	// DeviceInfo is the information of the device plugin or the CNI plugin, in the form of the Device Information Specification.
	DeviceInfo json.RawMessage `json:"deviceInfo,omitempty"`
	// Took is the time that its plugins ran.
	Took time.Duration `json:"took,omitempty"`
}

// Removal is the message of CommandRemoved.
type Removal struct {
	Networks []Timing `json:"networks"`
}

// Timing is the time that the plugins of a network ran.
type Timing struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
}

// Deadline bounds each request to the daemon.
const Deadline = 30 * time.Second

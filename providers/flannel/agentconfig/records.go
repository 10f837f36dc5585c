package agentconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// ReportTTL is how long the report of an agent stays in etcd after the agent was last connected to it. The operator learns from a report that
// is missing that an agent reaches no member: what does not reach etcd cannot report that there.
const ReportTTL = 10 * time.Minute

// Reservation says which subnet a node keeps, also while it is away. It is the value of ReservationKey.
type Reservation struct {
	Node string `json:"node"`
	// UID is the UID of the Node object. Empty if the agent made the reservation, which does not know it.
	UID string `json:"uid,omitempty"`
	// Subnet is the node's IPv4 subnet, IPv6Subnet its IPv6 one (zero without IPv6).
	Subnet     netip.Prefix `json:"subnet"`
	IPv6Subnet netip.Prefix `json:"ipv6Subnet,omitzero"`
	// PublicIP is the address under which the node last held the subnet. Zero if it never did.
	PublicIP netip.Addr `json:"publicIP,omitzero"`
}

// AgentStatus is what a node's agent reports. It is the value of AgentKey. It holds no times, so that it is only
// written when something changed.
type AgentStatus struct {
	Node string `json:"node"`
	// Version is the version of the agent.
	Version string `json:"version"`
	// Subnet and IPv6Subnet are what the node holds; zero before it holds anything.
	Subnet     netip.Prefix `json:"subnet,omitzero"`
	IPv6Subnet netip.Prefix `json:"ipv6Subnet,omitzero"`
	// PublicIP, PublicIPv6 and Interface are where other nodes send the pods' traffic.
	PublicIP   netip.Addr `json:"publicIP,omitzero"`
	PublicIPv6 netip.Addr `json:"publicIPv6,omitzero"`
	Interface  string     `json:"interface,omitempty"`
	// Backend is host-gw or vxlan.
	Backend string `json:"backend"`
	// OwnCertificate is true while the agent presents a certificate of its own to etcd.
	OwnCertificate bool `json:"ownCertificate,omitempty"`
	// Network is the IPv4 network that the node's firewall rules and routes are for; zero before there are rules. Agents
	// of earlier versions do not say.
	Network netip.Prefix `json:"network,omitzero"`
	// MTU is the MTU of pods in bytes; 0 before it is known.
	MTU int `json:"mtu,omitempty"`
	// Step is MTUMigration.Step of the step that is done: devices, the configuration for new pods and all pods that run
	// are as it says. 0 means that none is.
	Step int `json:"step,omitempty"`
	// Ready is true once pods can be started: the configuration of the container runtime is in place.
	Ready bool `json:"ready"`
	// Peers is the number of other nodes with a lease.
	Peers int `json:"peers"`
	// OffLink are the peers that host-gw cannot reach, since they are not on the interface's link. Sorted.
	OffLink []Peer `json:"offLink,omitempty"`
	// ForeignBackend are the peers whose lease is of another backend, so that there is no way to them. Sorted.
	ForeignBackend []Peer `json:"foreignBackend,omitempty"`
	// ConflictingCNI are files in the directory of network configurations that the container runtime reads before
	// the agent's. Sorted.
	ConflictingCNI []string `json:"conflictingCNI,omitempty"`
	// DetachedPods is the number of pods whose link has no bridge, so that they reach nothing.
	DetachedPods int `json:"detachedPods,omitempty"`
	// Detached are the first of these pods, as namespace/name, as far as the container runtime remembers whose links they are. Sorted.
	Detached []string `json:"detached,omitempty"`
	// UnansweredEtcd are the addresses of etcd, as host:port, to which the agent has not been able to connect for 30 seconds or longer:
	// neither a connection nor a refusal came back. Sorted.
	UnansweredEtcd []string `json:"unansweredEtcd,omitempty"`
	// Errors are sentences about what does not work. Sorted.
	Errors []string `json:"errors,omitempty"`
}

// Peer is another node.
type Peer struct {
	// Node is the node's name; empty if no reservation says whose subnet it is.
	Node string `json:"node,omitempty"`
	// PublicIP is the node's address, Subnet its subnet.
	PublicIP netip.Addr   `json:"publicIP"`
	Subnet   netip.Prefix `json:"subnet"`
}

// String names the peer for a sentence.
func (p Peer) String() string {
	if p.Node == "" {
		return fmt.Sprintf("%s (subnet %s)", p.PublicIP, p.Subnet)
	}
	return fmt.Sprintf("%s (address %s, subnet %s)", p.Node, p.PublicIP, p.Subnet)
}

// Encode returns the value to keep in etcd.
func (r Reservation) Encode() ([]byte, error) { return encode("reservation", r) }

// Encode returns the value to keep in etcd.
func (s AgentStatus) Encode() ([]byte, error) { return encode("agent status", s) }

// DecodeReservation reads the value of ReservationKey. It refuses one without a node or without an IPv4 subnet.
// Fields that are not known are ignored, since the operator and the agents are not updated at one moment.
func DecodeReservation(data []byte) (Reservation, error) {
	var r Reservation
	if err := json.Unmarshal(data, &r); err != nil {
		return Reservation{}, fmt.Errorf("decode reservation: %w", err)
	}
	if r.Node == "" {
		return Reservation{}, fmt.Errorf("decode reservation: it names no node")
	}
	if !r.Subnet.Addr().Is4() || r.Subnet != r.Subnet.Masked() || r.IPv6Subnet.IsValid() && !is6(r.IPv6Subnet.Addr()) {
		return Reservation{}, fmt.Errorf("decode reservation of %s: subnets %q and %q are not an IPv4 and an IPv6 one", r.Node, r.Subnet, r.IPv6Subnet)
	}
	return r, nil
}

// DecodeAgentStatus reads the value of AgentKey.
func DecodeAgentStatus(data []byte) (AgentStatus, error) {
	var s AgentStatus
	if err := json.Unmarshal(data, &s); err != nil {
		return AgentStatus{}, fmt.Errorf("decode agent status: %w", err)
	}
	return s, nil
}

func encode(what string, v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

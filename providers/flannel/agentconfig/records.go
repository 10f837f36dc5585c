package agentconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// ReportTTL is the lifetime of an agent's report in etcd after the agent's last connection. From a missing report the operator concludes that the agent cannot reach
// any member, which the agent cannot report itself.
const ReportTTL = 10 * time.Minute

// Reservation is the persistent assignment of a subnet to a node. It is the value of ReservationKey.
type Reservation struct {
	Node string `json:"node"`
	// UID is the UID of the Node object. It is empty if the agent created the reservation, since it does not know the UID.
	UID string `json:"uid,omitempty"`
	// Subnet is the node's IPv4 subnet, IPv6Subnet the IPv6 one (zero without IPv6).
	Subnet     netip.Prefix `json:"subnet"`
	IPv6Subnet netip.Prefix `json:"ipv6Subnet,omitzero"`
	// PublicIP is the address with which the node last held the subnet. It is zero if it never did.
	PublicIP netip.Addr `json:"publicIP,omitzero"`
}

// AgentStatus is the report of a node's agent. It is the value of AgentKey. It has no timestamps, so that it is written only after a change.
type AgentStatus struct {
	Node string `json:"node"`
	// Version is the version of the agent.
	Version string `json:"version"`
	// Subnet and IPv6Subnet are the subnets of the node; zero before it has any.
	Subnet     netip.Prefix `json:"subnet,omitzero"`
	IPv6Subnet netip.Prefix `json:"ipv6Subnet,omitzero"`
	// PublicIP, PublicIPv6 and Interface are the addresses and the interface for pod traffic from other nodes.
	PublicIP   netip.Addr `json:"publicIP,omitzero"`
	PublicIPv6 netip.Addr `json:"publicIPv6,omitzero"`
	Interface  string     `json:"interface,omitempty"`
	// Backend is host-gw or vxlan.
	Backend string `json:"backend"`
	// OwnCertificate is true while the agent presents its own certificate to etcd.
	OwnCertificate bool `json:"ownCertificate,omitempty"`
	// Network is the IPv4 network of the node's firewall rules and routes; zero before there are rules, and with agents of earlier versions.
	Network netip.Prefix `json:"network,omitzero"`
	// MTU is the MTU of pods in bytes; 0 before it is known.
	MTU int `json:"mtu,omitempty"`
	// Step is the completed MTUMigration.Step: devices, the configuration for new pods and all running pods have its MTU. 0 means none.
	Step int `json:"step,omitempty"`
	// Ready is true once pods can be started: the configuration of the container runtime exists.
	Ready bool `json:"ready"`
	// Peers is the number of other nodes with a lease.
	Peers int `json:"peers"`
	// OffLink are the peers that host-gw cannot reach, since they are not on the interface's link. Sorted.
	OffLink []Peer `json:"offLink,omitempty"`
	// ForeignBackend are the peers whose lease has another backend, which are unreachable. Sorted.
	ForeignBackend []Peer `json:"foreignBackend,omitempty"`
	// ConflictingCNI are files in the directory of network configurations that take precedence over the agent's. Sorted.
	ConflictingCNI []string `json:"conflictingCNI,omitempty"`
	// DetachedPods is the number of pods whose link has no bridge, and that have no connectivity.
	DetachedPods int `json:"detachedPods,omitempty"`
	// Detached are the first of these pods, as namespace/name, if the container runtime's cache has the owner of the link. Sorted.
	Detached []string `json:"detached,omitempty"`
	// UnansweredEtcd are the addresses of etcd, as host:port, to which connections have timed out for 30 seconds or longer. Sorted.
	UnansweredEtcd []string `json:"unansweredEtcd,omitempty"`
	// Errors are sentences about current problems. Sorted.
	Errors []string `json:"errors,omitempty"`
}

// Peer is another node.
type Peer struct {
	// Node is the node's name; empty if the subnet has no reservation.
	Node string `json:"node,omitempty"`
	// PublicIP is the node's address, Subnet its subnet.
	PublicIP netip.Addr   `json:"publicIP"`
	Subnet   netip.Prefix `json:"subnet"`
}

// String returns the peer in a form for sentences.
func (p Peer) String() string {
	if p.Node == "" {
		return fmt.Sprintf("%s (subnet %s)", p.PublicIP, p.Subnet)
	}
	return fmt.Sprintf("%s (address %s, subnet %s)", p.Node, p.PublicIP, p.Subnet)
}

// Encode returns the value in etcd.
func (r Reservation) Encode() ([]byte, error) { return encode("reservation", r) }

// Encode returns the value in etcd.
func (s AgentStatus) Encode() ([]byte, error) { return encode("agent status", s) }

// DecodeReservation decodes the value of ReservationKey. It rejects a value without a node or without an IPv4 subnet. It ignores unknown fields, since the
// operator and the agents may have different versions.
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

// DecodeAgentStatus decodes the value of AgentKey.
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

package node

import (
	"maps"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/flannel-io/flannel/pkg/lease"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// leaseAttrs is flannel's value of a lease.
type leaseAttrs = lease.LeaseAttrs

// state is the agent's saved state, with which it can route without etcd.
type state struct {
	// Prefix, Network and Backend identify the configuration of the state. With another configuration it is not used.
	Prefix  string              `json:"prefix"`
	Network agentconfig.Network `json:"network"`
	Backend agentconfig.Backend `json:"backend"`
	// Node is the node of the state.
	Node string `json:"node"`
	// IPv4 and IPv6 are the node's subnets.
	IPv4 netip.Prefix `json:"ipv4,omitzero"`
	IPv6 netip.Prefix `json:"ipv6,omitzero"`
	// VtepMAC is the MAC address of the node's vxlan device.
	VtepMAC string `json:"vtepMAC,omitempty"`
	// Peers are the other nodes' leases.
	Peers []statePeer `json:"peers,omitempty"`
}

type statePeer struct {
	Node  string     `json:"node,omitempty"`
	Key   string     `json:"key"`
	Attrs leaseAttrs `json:"attrs"`
}

func stateFile(config agentconfig.Config) string { return filepath.Join(config.StateDir, "state.json") }

// newState returns the state to save. Of the other nodes' leases it has those that are used for routing.
func newState(config agentconfig.Config, node string, t holding, p peers, accepted map[string]store.Lease) state {
	s := state{
		Prefix: config.Etcd.Prefix, Network: config.Network, Backend: config.Backend, Node: node,
		IPv4: t.ipv4, IPv6: t.ipv6, VtepMAC: vtepMAC(t.desired),
	}
	for _, key := range slices.Sorted(maps.Keys(accepted)) {
		l := accepted[key]
		s.Peers = append(s.Peers, statePeer{Node: p.names[l.IPv4], Key: l.Key, Attrs: l.Attrs})
	}
	return s
}

// fits reports whether the state belongs to this node and configuration. The network may have grown since.
func (s state) fits(config agentconfig.Config, node string) bool {
	network := s.Network
	if agentconfig.Grown(network.IPv4, config.Network.IPv4) {
		network.IPv4 = config.Network.IPv4
	}
	return s.Prefix == config.Etcd.Prefix && network == config.Network && s.Backend == config.Backend && s.Node == node && s.IPv4.IsValid()
}

// peers returns the other nodes in the state.
func (s state) peers() peers {
	out := peers{
		leases: map[string]store.Lease{}, names: map[netip.Prefix]string{}, reservations: map[string]agentconfig.Reservation{},
		known: s.IPv4.IsValid(),
	}
	for _, p := range s.Peers {
		v4, v6, ok := agentconfig.ParseSubnetKey(s.Prefix, p.Key)
		if !ok {
			continue
		}
		out.leases[p.Key] = store.Lease{Key: p.Key, IPv4: v4, IPv6: v6, Attrs: p.Attrs}
		if p.Node != "" {
			out.names[v4] = p.Node
		}
	}
	return out
}

// loadState loads the state. It returns the zero state if it is missing or belongs to another network, and also, with an error, if it is invalid: the agent
// then needs etcd to start.
func loadState(config agentconfig.Config, node string) (state, error) {
	s, found, err := agent.LoadState[state](stateFile(config))
	if err != nil || !found {
		return state{}, err
	}
	if !s.fits(config, node) {
		return state{}, nil
	}
	return s, nil
}

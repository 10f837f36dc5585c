package controller

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// growthInterval is the time between two observations of the agents while the network grows.
const growthInterval = 2 * time.Second

// growth returns the network configuration that etcd may have now, and a sentence about pending nodes; empty if there are none. Nodes choose their subnets
// from the network in etcd, so it grows there last: after the rules and routes of every Ready node include the new part. The operator does not wait for nodes
// that are not Ready, since their agents read the new network at startup. growth is a pure function of the observed state, so that a restarted operator
// continues.
func (s store) growth(want agentconfig.Config, nodes map[string]etcdmanager.Node) (now agentconfig.Config, waiting string) {
	if s.config == nil {
		return want, ""
	}
	var live struct {
		Network   netip.Prefix
		SubnetLen int
	}
	if json.Unmarshal(s.config.Value, &live) != nil || live.SubnetLen != want.Network.IPv4SubnetLen || !agentconfig.Grown(live.Network, want.Network.IPv4) {
		return want, ""
	}
	late := s.late(want.Network.IPv4, nodes)
	if len(late) == 0 {
		return want, ""
	}
	waiting = fmt.Sprintf("the pool grows from %s to %s; nodes get subnets of the new part once all agents use it: %s remaining (%s)",
		live.Network, want.Network.IPv4, count(len(late)), phrase.Names(late, maxNamed))
	now = want
	now.Network.IPv4 = live.Network
	return now, waiting
}

// late returns the Ready nodes whose agents do not use a network yet. A node without a report and a reservation has no pods in the network.
func (s store) late(network netip.Prefix, nodes map[string]etcdmanager.Node) []string {
	var out []string
	for name, n := range nodes {
		_, reserved := s.reservations[name]
		a, reports := s.agents[name]
		if n.Ready && (reserved || reports) && a.Network != network {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func count(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

package controller

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// growthPause is how long to wait before agents are looked at again while the network grows.
const growthPause = 2 * time.Second

// growth returns the network configuration that may be in etcd now, and a sentence about what is waited for, which is
// empty if nothing is. Nodes choose their subnets from the network that is in etcd, so it grows there last: once the
// rules and routes of every node that is ready take in what is new. A node that is not ready learns it when its agent
// starts again, and is not waited for. It is a pure function of what is there, so that an operator that is started again
// goes on where the last one was.
func (s store) growth(want agentconfig.Config, nodes map[string]etcdmanager.Node) (now agentconfig.Config, waiting string) {
	if s.config == nil {
		return want, ""
	}
	var have struct {
		Network   netip.Prefix
		SubnetLen int
	}
	if json.Unmarshal(s.config.Value, &have) != nil || have.SubnetLen != want.Network.IPv4SubnetLen || !agentconfig.Grown(have.Network, want.Network.IPv4) {
		return want, ""
	}
	late := s.late(want.Network.IPv4, nodes)
	if len(late) == 0 {
		return want, ""
	}
	waiting = fmt.Sprintf("the pool grows from %s to %s; nodes get subnets of what is new once the agents of all know it: %s to go (%s)",
		have.Network, want.Network.IPv4, count(len(late)), strings.Join(append(slices.Clone(late[:min(named, len(late))]), more(len(late))...), ", "))
	now = want
	now.Network.IPv4 = have.Network
	return now, waiting
}

// late names the nodes that are ready and whose agents do not know a network yet. A node that has neither a report nor a
// reservation has no pods in the network.
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

func more(n int) []string {
	if n <= named {
		return nil
	}
	return []string{fmt.Sprintf("and %d more", n-named)}
}

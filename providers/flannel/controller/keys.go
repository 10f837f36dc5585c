package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// nodeGrace is how long a node must have been deleted before its subnet is released.
const nodeGrace = time.Minute

// store has all keys of flannel in etcd at one revision.
type store struct {
	prefix string
	config *etcdclient.KeyValue
	leases []lease
	// reservations and agents are keyed by node name.
	reservations map[string]reservation
	agents       map[string]agent
	// broken are sentences about invalid values.
	broken []string
}

type lease struct {
	key      etcdclient.KeyValue
	subnet   netip.Prefix
	publicIP netip.Addr
}

type reservation struct {
	key etcdclient.KeyValue
	agentconfig.Reservation
}

type agent struct {
	key etcdclient.KeyValue
	agentconfig.AgentStatus
}

// readStore parses keys. It ignores unknown ones.
func readStore(prefix string, keys []etcdclient.KeyValue) store {
	s := store{prefix: prefix, reservations: map[string]reservation{}, agents: map[string]agent{}}
	for _, kv := range keys {
		if kv.Key == agentconfig.ConfigKey(prefix) {
			s.config = &kv
		} else if subnet, _, ok := agentconfig.ParseSubnetKey(prefix, kv.Key); ok {
			var value struct{ PublicIP netip.Addr }
			_ = json.Unmarshal(kv.Value, &value) // a lease with an unknown holder belongs to no node
			s.leases = append(s.leases, lease{kv, subnet, value.PublicIP})
		} else if node, ok := agentconfig.ParseNodeKey(agentconfig.ReservationDir(prefix), kv.Key); ok {
			r, err := agentconfig.DecodeReservation(kv.Value)
			if err != nil {
				s.broken = append(s.broken, fmt.Sprintf("%s: %v", kv.Key, err))
				continue
			}
			s.reservations[node] = reservation{kv, r}
		} else if node, ok := agentconfig.ParseNodeKey(agentconfig.AgentDir(prefix), kv.Key); ok {
			a, err := agentconfig.DecodeAgentStatus(kv.Value)
			if err != nil {
				s.broken = append(s.broken, fmt.Sprintf("%s: %v", kv.Key, err))
				continue
			}
			s.agents[node] = agent{kv, a}
		}
	}
	return s
}

// configure returns the change that writes flannel's network configuration; nil if it is up to date. problem is a sentence if the prefix is used for another
// network, by leases without a reservation of this cluster.
func (s store) configure(want agentconfig.Config) (change *etcdclient.Change, problem string, err error) {
	value, err := want.NetworkConfig()
	if err != nil {
		return nil, "", err
	}
	key := agentconfig.ConfigKey(s.prefix)
	if s.config == nil {
		return &etcdclient.Change{Unchanged: map[string]int64{key: 0}, Put: map[string][]byte{key: value}}, "", nil
	}
	if bytes.Equal(s.config.Value, value) {
		return nil, "", nil
	}
	var live struct {
		Network   netip.Prefix
		SubnetLen int
	}
	readable := json.Unmarshal(s.config.Value, &live) == nil
	if !readable || live.Network != want.Network.IPv4 || live.SubnetLen != want.Network.IPv4SubnetLen {
		if foreign := s.foreign(); len(foreign) > 0 {
			return nil, fmt.Sprintf("%s in etcd is for the network %s with subnets of length %d, and nodes that are not of this cluster use it (%s); "+
				"choose another spec.defaultNetwork.flannelConfig.etcd.prefix, or delete these leases if the nodes no longer exist",
				key, live.Network, live.SubnetLen, strings.Join(foreign, ", ")), nil
		}
	}
	return &etcdclient.Change{Unchanged: map[string]int64{key: s.config.Revision}, Put: map[string][]byte{key: value}}, "", nil
}

// foreign describes the leases that belong to no node of this cluster, at most three of them.
func (s store) foreign() []string {
	own := map[netip.Prefix]netip.Addr{}
	for _, r := range s.reservations {
		own[r.Subnet] = r.PublicIP
	}
	// Only the node itself may write the lease of a reservation without an address.
	unnamed := netip.Addr{}
	var out []string
	for _, l := range s.leases {
		if holder, ok := own[l.subnet]; !ok || holder != l.publicIP && holder != unnamed {
			out = append(out, fmt.Sprintf("%s has %s", l.publicIP, l.subnet))
		}
	}
	return phrase.First(out, 3)
}

// claim returns the changes that write the UIDs of nodes into reservations that have another UID or none: those created by agents, and those of replaced nodes
// with the same name, which inherit the subnet. It also removes addresses that agents can no longer correct: if identity is true, only a node itself may write
// its lease, and addresses are not needed.
func (s store) claim(nodes map[string]etcdmanager.Node, identity bool) ([]etcdclient.Change, error) {
	var out []etcdclient.Change
	for _, name := range sorted(s.reservations) {
		r, n := s.reservations[name], nodes[name]
		a := s.agents[name]
		outdated := r.PublicIP.IsValid() && (identity || a.OwnCertificate && a.PublicIP.IsValid() && a.PublicIP != r.PublicIP)
		if n.UID == "" || r.UID == n.UID && !outdated {
			continue
		}
		if r.UID = n.UID; outdated {
			r.PublicIP = netip.Addr{}
		}
		value, err := r.Encode()
		if err != nil {
			return nil, err
		}
		out = append(out, etcdclient.Change{Unchanged: map[string]int64{r.key.Key: r.key.Revision}, Put: map[string][]byte{r.key.Key: value}})
	}
	return out, nil
}

// absent returns the names of deleted nodes that have keys in etcd.
func (s store) absent(nodes map[string]etcdmanager.Node) []string {
	var out []string
	for name := range s.reservations {
		if _, ok := nodes[name]; !ok {
			out = append(out, name)
		}
	}
	for name := range s.agents {
		if _, ok := nodes[name]; !ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// release returns the change that releases the subnet of a deleted node: it deletes its reservation, its lease, and the report of its agent, unless any of
// them has changed.
func (s store) release(name string) etcdclient.Change {
	c := etcdclient.Change{Unchanged: map[string]int64{}}
	drop := func(kv etcdclient.KeyValue) {
		c.Unchanged[kv.Key] = kv.Revision
		c.Delete = append(c.Delete, kv.Key)
	}
	if r, ok := s.reservations[name]; ok {
		drop(r.key)
		for _, l := range s.leases {
			if l.subnet == r.Subnet && (l.publicIP == r.PublicIP || !r.PublicIP.IsValid()) {
				drop(l.key)
			}
		}
	}
	if a, ok := s.agents[name]; ok {
		drop(a.key)
	}
	return c
}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

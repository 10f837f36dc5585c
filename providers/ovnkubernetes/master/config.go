// Package master is the cluster-wide controller of OVN-Kubernetes: it assigns blocks to nodes and addresses to pods, and reconciles OVN's northbound database
// with the rows that package northbound computes from the API objects. One instance runs on each control-plane node, with its own northbound database,
// southbound database and ovn-northd. The instance that holds the Lease works, and opens its southbound database to the nodes. The databases can always be
// recomputed: their loss only costs a rebuild.
package master

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

// Default values of Config.
const (
	defaultLeaseNamespace = "openshift-ovn-kubernetes"
	defaultLeaseName      = "ovn-kubernetes-master"
	defaultNorthbound     = "/var/run/ovn/ovnnb_db.sock"
	defaultSouthbound     = "/var/run/ovn/ovnsb_db.sock"
	defaultControl        = "/var/run/ovn/ovnsb_db.ctl"
	defaultPort           = 6642
	defaultProbe          = 60 * time.Second
)

// Config is the configuration of Run.
type Config struct {
	// Kube has the API server's address and credentials. Required.
	Kube *rest.Config
	// Node is the name of the node on which this instance runs. It is part of the identity in the Lease. Required.
	Node string
	// Pools are the pools of the cluster network. Required.
	Pools []nodeblocks.Pool
	// Services are the Service CIDRs. They must not overlap the pools.
	Services []netip.Prefix

	// NorthboundSocket and SouthboundSocket are the sockets of the databases. SouthboundControl is the control socket of the southbound database's server.
	// Defaults: ovnnb_db.sock, ovnsb_db.sock and ovnsb_db.ctl in /var/run/ovn.
	NorthboundSocket, SouthboundSocket, SouthboundControl string
	// SouthboundPort is the TCP port of the southbound database for nodes while this instance holds the Lease. Default: 6642.
	SouthboundPort uint16
	// SouthboundAddress is its listen address. Default: 0.0.0.0 or ::, every address of the node in the family of the first pool.
	SouthboundAddress netip.Addr
	// SouthboundTLS requires TLS from the nodes: the server must have been started with its private key, certificate and CA. Without it, connections are
	// unencrypted and accepted from any client.
	SouthboundTLS bool
	// ProbeInterval is the time without messages after which a node's connection to the southbound database is probed. Default: 60 s, since ovn-controller
	// does not respond while it computes the flows of a large cluster.
	ProbeInterval time.Duration

	// RateLimit returns the maximum number of NetworkPolicy messages per second and node. It is called every few seconds. Nil means the operator's default.
	RateLimit func() (uint32, error)

	// LeaseNamespace and LeaseName name the lease. Defaults: openshift-ovn-kubernetes and ovn-kubernetes-master.
	LeaseNamespace, LeaseName string

	// HealthAddress is the HOST:PORT of /healthz, /readyz and /metrics; empty for none.
	HealthAddress string
	// Metrics are served at /metrics. This package registers its metrics there, with the namespace ovnkube_master. Required.
	Metrics *agent.Metrics
	// Log is the logger. Required.
	Log *slog.Logger
}

// complete returns the configuration with its defaults. The error names every invalid field.
func (c Config) complete() (Config, error) {
	c.NorthboundSocket = cmp.Or(c.NorthboundSocket, defaultNorthbound)
	c.SouthboundSocket = cmp.Or(c.SouthboundSocket, defaultSouthbound)
	c.SouthboundControl = cmp.Or(c.SouthboundControl, defaultControl)
	c.SouthboundPort = cmp.Or(c.SouthboundPort, defaultPort)
	c.ProbeInterval = cmp.Or(c.ProbeInterval, defaultProbe)
	c.LeaseNamespace = cmp.Or(c.LeaseNamespace, defaultLeaseNamespace)
	c.LeaseName = cmp.Or(c.LeaseName, defaultLeaseName)
	var problems []error
	for _, required := range []struct {
		field   string
		missing bool
	}{
		{"Kube", c.Kube == nil}, {"Node", c.Node == ""}, {"Pools", len(c.Pools) == 0}, {"Metrics", c.Metrics == nil}, {"Log", c.Log == nil},
	} {
		if required.missing {
			problems = append(problems, fmt.Errorf("%s is required", required.field))
		}
	}
	for _, p := range c.Pools {
		if !p.Network.IsValid() || p.Length <= p.Network.Bits() || p.Length > p.Network.Addr().BitLen()-3 {
			problems = append(problems, fmt.Errorf("pool %s with blocks of length %d: blocks must be longer than the pool's prefix, and have 8 addresses or more", p.Network, p.Length))
		}
		for _, s := range c.Services {
			if p.Network.IsValid() && s.Overlaps(p.Network) {
				problems = append(problems, fmt.Errorf("pool %s overlaps the Service CIDR %s", p.Network, s))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return c, fmt.Errorf("configuration of the master: %w", err)
	}
	if !c.SouthboundAddress.IsValid() {
		if c.SouthboundAddress = netip.IPv4Unspecified(); c.tunnelsIPv6() {
			c.SouthboundAddress = netip.IPv6Unspecified()
		}
	}
	return c, nil
}

// tunnelsIPv6 reports whether tunnels between nodes are over IPv6, the family of the first pool.
func (c Config) tunnelsIPv6() bool { return c.Pools[0].Network.Addr().Is6() }

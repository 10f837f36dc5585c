// Package master is the part of OVN-Kubernetes that runs once in a cluster: it gives nodes their blocks and pods their addresses, and
// keeps OVN's northbound database equal to what package northbound computes from the API objects. One instance runs on each
// control-plane node, beside a northbound and a southbound database and an ovn-northd of its own; the one that has the lease works, and
// opens its southbound database to the nodes. The databases hold nothing that cannot be computed again: losing them costs a rebuild.
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

// The defaults of Config.
const (
	defaultLeaseNamespace = "openshift-ovn-kubernetes"
	defaultLeaseName      = "ovn-kubernetes-master"
	defaultNorthbound     = "/var/run/ovn/ovnnb_db.sock"
	defaultSouthbound     = "/var/run/ovn/ovnsb_db.sock"
	defaultControl        = "/var/run/ovn/ovnsb_db.ctl"
	defaultPort           = 6642
	defaultProbe          = 60 * time.Second
)

// Config is what Run needs.
type Config struct {
	// Kube is the API server's address and credentials. Required.
	Kube *rest.Config
	// Node is the name of the node on which this instance runs. It is part of the identity in the lease. Required.
	Node string
	// Pools are the cluster network: pods get addresses of blocks of these pools. Required.
	Pools []nodeblocks.Pool
	// Services are the CIDRs of Services. None may overlap a pool.
	Services []netip.Prefix

	// NorthboundSocket and SouthboundSocket are the sockets of the databases, SouthboundControl is the control socket of the southbound
	// one's server. Defaults: ovnnb_db.sock, ovnsb_db.sock and ovnsb_db.ctl in /var/run/ovn.
	NorthboundSocket, SouthboundSocket, SouthboundControl string
	// SouthboundPort is the TCP port at which nodes reach the southbound database while this instance has the lease. Default: 6642.
	SouthboundPort uint16
	// SouthboundAddress is where it listens. Default: 0.0.0.0, which is every IPv4 address of the node.
	SouthboundAddress netip.Addr
	// SouthboundTLS requires TLS of the nodes: the server has been started with its private key, certificate and CA. Without it the
	// connections are in the clear, and accepted from any client.
	SouthboundTLS bool
	// ProbeInterval is how long a node's connection to the southbound database may be silent before it is probed. Default: 60 s, as
	// ovn-controller does not answer while it computes the flows of a large cluster.
	ProbeInterval time.Duration

	// RateLimit returns how many messages about NetworkPolicies a node writes in a second at most. It is called every few seconds. Nil is the
	// default of the operator.
	RateLimit func() (uint32, error)

	// LeaseNamespace and LeaseName name the lease. Defaults: openshift-ovn-kubernetes and ovn-kubernetes-master.
	LeaseNamespace, LeaseName string

	// HealthAddress is the HOST:PORT of /healthz, /readyz and /metrics; empty for none.
	HealthAddress string
	// Metrics, of the namespace ovnkube_master, are served at /metrics, and get the metrics of this package. Required.
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
	if !c.SouthboundAddress.IsValid() {
		c.SouthboundAddress = netip.IPv4Unspecified()
	}
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
	return c, nil
}

package agentconfig

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// networkConfig is flannel's own configuration in etcd.
type networkConfig struct {
	Network       netip.Prefix
	SubnetLen     int
	EnableIPv6    bool         `json:",omitempty"`
	IPv6Network   netip.Prefix `json:",omitzero"`
	IPv6SubnetLen int          `json:",omitempty"`
	Backend       networkBackend
}

type networkBackend struct {
	Type string
	VNI  int `json:",omitempty"`
	Port int `json:",omitempty"`
	MTU  int `json:",omitempty"`
}

// NetworkConfig returns the value of ConfigKey: flannel's own network configuration, which flannel's other tools read. The output is deterministic.
func (c Config) NetworkConfig() ([]byte, error) {
	out := networkConfig{
		Network:       c.Network.IPv4,
		SubnetLen:     c.Network.IPv4SubnetLen,
		EnableIPv6:    c.Network.DualStack(),
		IPv6Network:   c.Network.IPv6,
		IPv6SubnetLen: c.Network.IPv6SubnetLen,
		Backend:       networkBackend{Type: c.Backend.Type, VNI: c.Backend.VNI, Port: c.Backend.Port},
	}
	if c.Backend.Type == BackendVXLAN && c.MTU != 0 {
		// Flannel's setting is the MTU of the outer packet, MTU is that of pods.
		out.Backend.MTU = c.MTU + VXLANOverhead
	}
	return encode("flannel's network configuration", out)
}

// Grown reports whether to has the same base as from and a shorter prefix.
func Grown(from, to netip.Prefix) bool {
	return from.IsValid() && to.IsValid() && from.Masked().Addr() == to.Masked().Addr() && to.Bits() < from.Bits()
}

// Open returns the network from which subnets may be chosen: the configured one, or the one in etcd if the network is growing. The network in etcd grows last,
// after every node knows the new one, so that no node treats a pod address as external. value is that of ConfigKey; nil if it does not exist.
func (c Config) Open(value []byte) netip.Prefix {
	var got networkConfig
	if len(value) > 0 && json.Unmarshal(value, &got) == nil && Grown(got.Network, c.Network.IPv4) {
		return got.Network.Masked()
	}
	return c.Network.IPv4
}

// CheckNetworkConfig compares the value of ConfigKey with the configuration. It returns an error if the prefix is used for another network, since the subnets
// of both would share one set of keys. A network before and after growth counts as the same.
func (c Config) CheckNetworkConfig(value []byte) error {
	var got networkConfig
	if err := json.Unmarshal(value, &got); err != nil {
		return fmt.Errorf("decode %s: %w", ConfigKey(c.Etcd.Prefix), err)
	}
	same := got.Network == c.Network.IPv4 || Grown(got.Network, c.Network.IPv4) || Grown(c.Network.IPv4, got.Network)
	if !same || got.SubnetLen != c.Network.IPv4SubnetLen || got.Backend.Type != c.Backend.Type {
		return fmt.Errorf("%s in etcd is for network %s with subnets of length %d and backend %q, this node is configured for %s, %d and %q",
			ConfigKey(c.Etcd.Prefix), got.Network, got.SubnetLen, got.Backend.Type, c.Network.IPv4, c.Network.IPv4SubnetLen, c.Backend.Type)
	}
	return nil
}

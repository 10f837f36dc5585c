package agentconfig

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

// networkConfig has the fields of flannel's own configuration in etcd, with flannel's names.
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

// NetworkConfig returns the value of ConfigKey: flannel's own network configuration, which flannel's other tools
// read. The same configuration gives the same bytes.
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
		// Flannel's setting is the MTU of the outer packet, ours that of pods.
		out.Backend.MTU = c.MTU + VXLANOverhead
	}
	return encode("flannel's network configuration", out)
}

// Grown reports whether a network is another one with a shorter prefix, its base unchanged.
func Grown(from, to netip.Prefix) bool {
	return from.IsValid() && to.IsValid() && from.Masked().Addr() == to.Masked().Addr() && to.Bits() < from.Bits()
}

// Open returns the network that subnets may be chosen from: the configured one, or what etcd has of it. A network that
// grows does so in etcd last, when every node knows it, so that no pod has an address that some node takes for a
// stranger's. value is that of ConfigKey; nil if there is none.
func (c Config) Open(value []byte) netip.Prefix {
	var got networkConfig
	if len(value) > 0 && json.Unmarshal(value, &got) == nil && Grown(got.Network, c.Network.IPv4) {
		return got.Network.Masked()
	}
	return c.Network.IPv4
}

// CheckNetworkConfig compares the value of ConfigKey with the configuration. It returns an error if the prefix is
// used for another network, since subnets of both would then be given out from one pool of keys. A network that one of
// the two knows before it has grown is the same.
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

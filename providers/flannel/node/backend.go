package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/backend/hostgw"
	"github.com/flannel-io/flannel/pkg/backend/vxlan"
	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// manager is the subnet manager of flannel's backends. Only their registration is used; their watch loops do not run.
type manager struct {
	config  *subnet.Config
	vtepMAC string
	acquire func(context.Context, *lease.LeaseAttrs) (*lease.Lease, error)
}

// errNotServed is the error of methods that only the backends' loops call.
var errNotServed = errors.New("the agent does this itself")

func (m *manager) GetNetworkConfig(context.Context) (*subnet.Config, error) { return m.config, nil }

func (m *manager) AcquireLease(ctx context.Context, attrs *lease.LeaseAttrs) (*lease.Lease, error) {
	return m.acquire(ctx, attrs)
}

// GetStoredMacAddresses returns the saved MAC address of the vxlan device, so that it stays the same after a restart of the node. The IPv6 device gets a new
// one.
func (m *manager) GetStoredMacAddresses(context.Context) (v4, v6 string) { return m.vtepMAC, "" }

func (m *manager) GetStoredPublicIP(context.Context) (v4, v6 string) { return "", "" }

func (m *manager) Name() string { return "cno" }

func (m *manager) HandleSubnetFile(string, *subnet.Config, bool, ip.IP4Net, ip.IP6Net, int) error {
	return errNotServed
}

func (m *manager) RenewLease(context.Context, *lease.Lease) error { return errNotServed }

func (m *manager) WatchLease(context.Context, ip.IP4Net, ip.IP6Net, chan []lease.LeaseWatchResult) error {
	return errNotServed
}

func (m *manager) WatchLeases(context.Context, chan []lease.LeaseWatchResult) error {
	return errNotServed
}

func (m *manager) CompleteLease(context.Context, *lease.Lease, *sync.WaitGroup) error {
	return errNotServed
}

// flannelConfig returns the network configuration in flannel's form.
func flannelConfig(config agentconfig.Config) (*subnet.Config, error) {
	value, err := config.NetworkConfig()
	if err != nil {
		return nil, err
	}
	out, err := subnet.ParseConfig(string(value))
	if err != nil {
		return nil, fmt.Errorf("read flannel's network configuration: %w", err)
	}
	if err := subnet.CheckNetworkConfig(out); err != nil {
		return nil, fmt.Errorf("check flannel's network configuration: %w", err)
	}
	return out, nil
}

// register sets up the backend, which acquires the node's lease. It returns the names of the interfaces for traffic to other nodes, and the MTU of pods.
func register(ctx context.Context, config agentconfig.Config, m *manager, ext *backend.ExternalInterface) (links, int, error) {
	if err := correctMTU(config, ext.Iface.MTU); err != nil {
		return links{}, 0, err
	}
	on := backendLinks(config, ext.IfaceName)
	if err := removeTunnels(on); err != nil {
		return links{}, 0, fmt.Errorf("remove interfaces of earlier settings: %w", err)
	}
	build := hostgw.New
	if config.Backend.Type == agentconfig.BackendVXLAN {
		build = vxlan.New
	}
	be, err := build(m, ext)
	if err != nil {
		return links{}, 0, fmt.Errorf("create backend %s: %w", config.Backend.Type, err)
	}
	var wg sync.WaitGroup
	network, err := be.RegisterNetwork(ctx, &wg, m.config)
	if err != nil {
		return links{}, 0, fmt.Errorf("set up backend %s: %w", config.Backend.Type, err)
	}
	mtu := network.MTU()
	if config.MTU != 0 {
		mtu = config.MTU
	}
	return on, mtu, nil
}

// backendLinks returns flannel's names of the devices.
func backendLinks(config agentconfig.Config, ext string) links {
	on := links{IPv4: ext}
	if config.Backend.Type == agentconfig.BackendVXLAN {
		on.IPv4 = fmt.Sprintf("flannel.%d", config.Backend.VNI)
	}
	if !config.Network.DualStack() {
		return on
	}
	on.IPv6 = ext
	if config.Backend.Type == agentconfig.BackendVXLAN {
		on.IPv6 = fmt.Sprintf("flannel-v6.%d", config.Backend.VNI)
	}
	return on
}

// correctMTU corrects the MTU of existing vxlan devices, which flannel does not change.
func correctMTU(config agentconfig.Config, extMTU int) error {
	if config.Backend.Type != agentconfig.BackendVXLAN {
		return nil
	}
	mtu := extMTU - agentconfig.VXLANOverhead
	if config.MTU != 0 {
		mtu = config.MTU
	}
	on := backendLinks(config, "")
	for _, name := range []string{on.IPv4, on.IPv6} {
		link, err := netlink.LinkByName(name)
		if name == "" || err != nil || link.Attrs().MTU == mtu {
			continue
		}
		if err := netlink.LinkSetMTU(link, mtu); err != nil {
			return fmt.Errorf("set MTU of %s to %d: %w", name, mtu, err)
		}
	}
	return nil
}

// vtepMAC returns the MAC address in a vxlan lease; empty for other leases.
func vtepMAC(attrs *lease.LeaseAttrs) string {
	if attrs == nil {
		return ""
	}
	return macIn(attrs.BackendData)
}

// vtepMACv6 returns the MAC address of the IPv6 device.
func vtepMACv6(attrs *lease.LeaseAttrs) string {
	if attrs == nil {
		return ""
	}
	return macIn(attrs.BackendV6Data)
}

func macIn(data json.RawMessage) string {
	var v vxlanAttrs
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		return ""
	}
	return v.VtepMAC
}

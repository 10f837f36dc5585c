package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// applyExport configures the integration bridge to send flow records to the collectors in the file, which the kubelet replaces while the agent runs. It
// returns all collectors.
func (d *daemonState) applyExport(ctx context.Context) ([]netip.AddrPort, error) {
	flows, err := readFlows(d.Config.Directories.NetworkFlows)
	if err != nil {
		return nil, err
	}
	all := flows.all()
	c, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return all, err
	}
	return all, c.EnsureExport(ctx, integration, ovs.Export{NetFlow: flows.NetFlow, SFlow: flows.SFlow, IPFIX: flows.IPFIX, Agent: d.Config.TunnelAddress})
}

// collectors are the collectors of a node.
type collectors agentconfig.NetworkFlows

// readFlows reads the collectors from the file. A missing file has none.
func readFlows(file string) (collectors, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return collectors{}, nil
	}
	if err != nil {
		return collectors{}, fmt.Errorf("read the collectors of flow records: %w", err)
	}
	flows, err := agentconfig.DecodeNetworkFlows(content)
	return collectors(flows), err
}

func (c collectors) all() []netip.AddrPort { return slices.Concat(c.NetFlow, c.SFlow, c.IPFIX) }

// withExport adds the rule that sets the node's address as the source of flow records. With the userspace datapath they come from the network namespace of
// Open vSwitch.
func (d *daemonState) withExport(t traffic, collectors []netip.AddrPort) traffic {
	if !d.userspace || len(collectors) == 0 {
		return t
	}
	t[knftables.IPv4Family] = append(t[knftables.IPv4Family], exportRule(d.underlay.SwitchAddress(), collectors))
	return t
}

func exportRule(from netip.Addr, collectors []netip.AddrPort) string {
	var to []string
	for _, c := range collectors {
		if text := fmt.Sprintf("%s . %d", c.Addr(), c.Port()); !slices.Contains(to, text) {
			to = append(to, text)
		}
	}
	slices.Sort(to)
	return knftables.Concat("ip saddr", from, "ip daddr . udp dport {", strings.Join(to, ", "), "} masquerade")
}

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Remove removes the remains of the agent and Open vSwitch from the node: configuration, interfaces, rules, addresses, the network namespace and the database.
// Neither may be running, unless the host runs Open vSwitch: then only the network's bridges are removed from it. Running pods lose their network.
func Remove(ctx context.Context, c agentconfig.Config) error {
	errs := []error{cniFile(c).Remove()}
	underlay, userspace, err := underlayOf(c)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if c.ExternalSwitch {
		errs = append(errs, removeBridges(ctx, c))
	} else if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", switchSocket(c)); err == nil {
		return errors.Join(append(errs, fmt.Errorf("a server of Open vSwitch listens at %s; stop the network's pods on this node first", switchSocket(c)), conn.Close())...)
	}
	errs = append(errs, removeEgressIPs(ctx), removeTable(ctx, knftables.IPv4Family, table), removeTable(ctx, knftables.IPv4Family, idleTable), removeTable(ctx, knftables.IPv4Family, outsideTable), ovs.Place{}.Remove(agentconfig.Tunnel))
	switch {
	case userspace && c.ExternalSwitch:
		errs = append(errs, removeLinks(ovs.Place{Path: underlay.Path()}), underlay.Disconnect(ctx))
	case userspace:
		errs = append(errs, underlay.Remove(ctx))
	default:
		errs = append(errs, removeLinks(ovs.Place{}))
	}
	errs = append(errs, os.RemoveAll(filepath.Join(c.AddressDir, agentconfig.Plugin)), os.RemoveAll(filepath.Dir(c.CNI.Socket)),
		os.RemoveAll(attachments(c)), remove(vnidFile(c)), remove(flowsFile(c)))
	if !c.ExternalSwitch {
		for _, pattern := range []string{c.SwitchDataDir + "/conf.db", c.SwitchDataDir + "/.conf.db.~lock~", c.SwitchRunDir + "/*.sock", c.SwitchRunDir + "/*.ctl", c.SwitchRunDir + "/*.mgmt", c.SwitchRunDir + "/*.snoop"} {
			files, err := filepath.Glob(pattern)
			errs = append(errs, err)
			for _, f := range files {
				errs = append(errs, remove(f))
			}
		}
	}
	return errors.Join(errs...)
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// removeBridges removes the network's bridges from the host's Open vSwitch.
func removeBridges(ctx context.Context, c agentconfig.Config) error {
	client, err := ovsdb.Dial(ctx, switchSocket(c))
	if err != nil {
		return fmt.Errorf("remove bridges: %w", err)
	}
	defer client.Close()
	configuration := ovs.Configuration{Client: client}
	return errors.Join(configuration.DeleteBridge(ctx, agentconfig.Bridge), configuration.DeleteBridge(ctx, agentconfig.TunnelBridge))
}

// removeLinks removes the node's ends of pod links.
func removeLinks(at ovs.Place) error {
	links, err := at.Links()
	errs := []error{err}
	for name := range links {
		if strings.HasPrefix(name, linkPrefix) {
			errs = append(errs, at.Remove(name))
		}
	}
	return errors.Join(errs...)
}

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Remove removes the remains of the agent and Open vSwitch from the node: configuration, interfaces, rules, the network namespace and the databases. Neither
// may be running. Running pods lose their network.
func Remove(ctx context.Context, c config.Config) error {
	d := c.Directories
	if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.SwitchSocket()); err == nil {
		return errors.Join(fmt.Errorf("a server of Open vSwitch listens at %s; stop the network's pods on this node first", d.SwitchSocket()), conn.Close())
	}
	underlay, userspace, err := daemon.Underlay(c)
	if err != nil {
		return err
	}
	errs := []error{ipsec.Remove(ctx, c), cniFile(c).Remove(), applyTraffic(ctx, traffic{knftables.IPv4Family: nil, knftables.IPv6Family: nil}), ovs.Place{}.Remove(topology.ManagementLink)}
	if userspace {
		errs = append(errs, underlay.Remove(ctx))
	} else {
		errs = append(errs, removeSystemDatapath(ctx))
	}
	errs = append(errs, os.RemoveAll(attachments(d)))
	for _, pattern := range []string{
		d.SwitchData + "/conf.db", d.SwitchData + "/.conf.db.~lock~", d.SwitchRun + "/*.sock", d.SwitchRun + "/*.ctl", d.SwitchRun + "/*.mgmt", d.SwitchRun + "/*.snoop",
		d.Data + "/ovn?b_db.db", d.Data + "/.ovn?b_db.db.~lock~", d.Run + "/*.sock", d.Run + "/*.ctl",
	} {
		files, err := filepath.Glob(pattern)
		errs = append(errs, err)
		for _, f := range files {
			errs = append(errs, os.Remove(f))
		}
	}
	// In a container the directory itself is a mount, which stays.
	_ = os.Remove(d.State)
	return errors.Join(append(errs, os.RemoveAll(filepath.Dir(d.PluginSocket())))...)
}

// removeSystemDatapath removes the kernel's datapath and the node's ends of pod links.
func removeSystemDatapath(ctx context.Context) error {
	var errs []error
	if out, err := exec.CommandContext(ctx, "ovs-dpctl", "--if-exists", "del-dp", "ovs-system").CombinedOutput(); err != nil && !strings.Contains(string(out), "No such device") {
		errs = append(errs, fmt.Errorf("remove the datapath of Open vSwitch: %w: %s", err, strings.TrimSpace(string(out))))
	}
	links, err := netlinkdump.All(netlink.LinkList)
	errs = append(errs, err)
	for _, l := range links {
		if l.Type() == "veth" && strings.HasPrefix(l.Attrs().Name, linkPrefix) {
			errs = append(errs, ovs.Place{}.Remove(l.Attrs().Name))
		}
	}
	return errors.Join(errs...)
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Display prints the bridges of the node, and on a master the logical network.
func Display(ctx context.Context, c config.Config, out io.Writer) error {
	d := c.Directories
	return show(ctx, out, [][]string{
		{"ovs-vsctl", "--db=unix:" + d.SwitchSocket(), "--timeout=5", "show"},
		{"ovn-nbctl", "--no-leader-only", "--db=unix:" + d.NorthDatabase().Socket, "--timeout=5", "show"},
		{"ovn-sbctl", "--no-leader-only", "--db=unix:" + d.SouthDatabase().Socket, "--timeout=5", "show"},
	})
}

// Debug prints the state of Open vSwitch and OVN on the node: interfaces, flows, the connection of ovn-controller, logical flows.
func Debug(ctx context.Context, c config.Config, out io.Writer) error {
	d := c.Directories
	return errors.Join(Display(ctx, c, out), show(ctx, out, [][]string{
		{"ovs-vsctl", "--db=unix:" + d.SwitchSocket(), "--timeout=5", "list", "Open_vSwitch"},
		{"ovs-vsctl", "--db=unix:" + d.SwitchSocket(), "--timeout=5", "list", "Interface"},
		{"ovs-ofctl", "--timeout=10", "dump-flows", "unix:" + d.SwitchRun + "/" + topology.IntegrationBridge + ".mgmt"},
		{"ovs-appctl", "--target=" + d.SwitchControl(), "--timeout=5", "dpctl/show"},
		{"ovn-appctl", "--target=" + d.ControllerControl(), "--timeout=5", "connection-status"},
		{"ovn-nbctl", "--no-leader-only", "--db=unix:" + d.NorthDatabase().Socket, "--timeout=5", "list", "Load_Balancer"},
		{"ovn-sbctl", "--no-leader-only", "--db=unix:" + d.SouthDatabase().Socket, "--timeout=5", "lflow-list"},
	}))
}

// show runs commands and prints their output. A command whose process or database does not run on this node is reported, but is not an error.
func show(ctx context.Context, out io.Writer, commands [][]string) error {
	var errs []error
	for _, command := range commands {
		text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			text = fmt.Appendf(text, "%v\n", err)
		}
		_, err = fmt.Fprintf(out, "$ %s\n%s\n", strings.Join(command, " "), text)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

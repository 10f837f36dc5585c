package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// keyInstalled is the external ID with which ovn-controller reports that the flows of an interface are installed.
const keyInstalled = "ovn-installed"

// newSwitch returns a connection to Open vSwitch's database. fire is called after changes other than those of pods' ports, report when a connection ends.
func newSwitch(socket string, fire func(), report func(error)) *ovs.Database {
	return ovs.NewDatabase(socket, func(changes []ovsdb.Change) {
		for _, c := range changes {
			if c.Table != "Interface" || c.New == nil || c.New.Text("name") == managementPeer {
				fire()
				return
			}
		}
	}, report)
}

// installed reports whether ovn-controller has installed the flows of an interface, including those of policies.
func installed(i ovs.Interface) bool { return i.ExternalIDs[keyInstalled] == "true" }

// notInstalled returns an error until they are installed.
func notInstalled(i ovs.Interface) error {
	if installed(i) {
		return nil
	}
	return fmt.Errorf("ovn-controller has not installed the flows of logical port %s yet", i.ExternalIDs[idInterface])
}

// desiredIDs returns the configuration of ovn-controller in Open vSwitch's database.
func (d *daemonState) desiredIDs() map[string]string {
	datapath := "system"
	if d.userspace {
		datapath = "netdev"
	}
	return map[string]string{
		"system-id": d.Node, "hostname": d.Node, "ovn-remote": d.Config.South, "ovn-encap-type": "geneve", "ovn-encap-ip": d.Config.TunnelAddress.String(),
		"ovn-bridge-datapath-type": datapath,
		// Conditional monitoring saves memory on small nodes, but costs the southbound database much more.
		"ovn-monitor-all": "true", "ovn-remote-probe-interval": strconv.FormatInt(d.Config.Probe.Milliseconds(), 10), "ovn-openflow-probe-interval": "180",
		"ovn-ofctrl-wait-before-clear": strconv.FormatInt(clearAfter(d.switchRestarted.Load(), time.Now()).Milliseconds(), 10),
	}
}

const (
	// flowsGracePeriod is how long a restarted ovn-controller keeps the flows of its predecessor, until it has computed its own.
	flowsGracePeriod = time.Second
	// reconnectTime is the time after a restart of ovs-vswitchd within which ovn-controller reconnects: it retries after 1 s, 2 s and 4 s.
	reconnectTime = 8 * time.Second
)

// clearAfter returns how long ovn-controller waits after it has connected to Open vSwitch before it replaces flows. A restarted ovs-vswitchd has no flows: a
// delay would only extend the time in which it drops all packets.
func clearAfter(switchRestarted *time.Time, now time.Time) time.Duration {
	if switchRestarted != nil && now.Sub(*switchRestarted) < reconnectTime {
		return 0
	}
	return flowsGracePeriod
}

// configureSwitch configures ovn-controller, and creates the integration bridge.
func (d *daemonState) configureSwitch(ctx context.Context) error {
	c, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	root := ovs.Root{ExternalIDs: d.desiredIDs(), Options: ovs.OwnOptions()}
	if !d.vswitch.HasRoot(root) {
		if err := c.Initialize(ctx, root); err != nil {
			return err
		}
	}
	return d.vswitch.EnsureBridge(ctx, ovs.Bridge{Name: integration, Userspace: d.userspace, Secure: true})
}

// connectUnderlay repairs the underlay between Open vSwitch and the node.
func (d *daemonState) connectUnderlay(ctx context.Context) error {
	if !d.userspace {
		return nil
	}
	mtu, err := ovs.MTUOf(d.Config.TunnelAddress)
	if err != nil {
		return err
	}
	d.underlay.MTU = mtu
	if _, err := d.place.Links(); err != nil {
		return err // the process that runs Open vSwitch creates the namespace
	}
	if err := d.underlay.Prepare(ctx); err != nil {
		return err
	}
	if err := d.vswitch.EnsureBridge(ctx, ovs.Bridge{Name: d.underlay.Bridge, Userspace: true}); err != nil {
		return err
	}
	if err := d.vswitch.EnsurePort(ctx, d.underlay.Bridge, d.underlay.UplinkPort()); err != nil {
		return err
	}
	return d.underlay.Connect(ctx, ovs.Control(d.Config.Directories.SwitchControl()))
}

// watchDaemon triggers a reconcile when ovs-vswitchd restarts, since it loses the route of tunnels and all flows. It keeps a connection to the control socket,
// which ends with the process.
func (d *daemonState) watchDaemon(ctx context.Context) {
	for restarted := false; ctx.Err() == nil; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.Config.Directories.SwitchControl())
		if err != nil {
			agent.Pause(ctx, 100*time.Millisecond, nil)
			continue
		}
		if now := time.Now(); restarted {
			d.switchRestarted.Store(&now)
		}
		restarted = true
		d.changed.Fire()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = conn.Read(make([]byte, 1)) // returns when the process has ended
		stop()
		_ = conn.Close()
	}
}

// restore adds ports that are missing in Open vSwitch although the pods' links exist: the database was lost. Pods keep their interfaces and regain
// connectivity. A former sandbox of a pod whose newer one has the logical port gets no port.
func (d *daemonState) restore(ctx context.Context) error {
	links, err := d.place.Links()
	if err != nil {
		return err
	}
	ports := d.vswitch.Interfaces()
	lost := map[string]bool{}
	for name := range links {
		if _, exists := ports[name]; !exists && strings.HasPrefix(name, linkPrefix) {
			lost[name] = true
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return d.server.Each(ctx, func(c cniserver.Call) bool { return lost[linkName(c)] }, d.restorePort)
}

// restorePort adds the port of an attachment unless its logical port is wired.
func (d *daemonState) restorePort(ctx context.Context, c cniserver.Call) error {
	given, uid, err := d.objects.pod(c.Pod())
	if err != nil {
		return fmt.Errorf("the port of a pod is missing in Open vSwitch: %w", err)
	}
	configuration, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	ids := podIDs(c, given, uid)
	restored, err := configuration.EnsureClaimedPort(ctx, integration, ovs.Port{Name: linkName(c), ExternalIDs: ids}, logicalPort(ids))
	if restored {
		d.Log.Warn("restored the port of a pod, which was missing in Open vSwitch", "port", linkName(c), "pod", ids[idInterface])
	}
	return err
}

// prune removes the ports of pods whose interface was deleted with the pod's network namespace.
func (d *daemonState) prune(ctx context.Context) error {
	stale, err := d.vswitch.WithoutLink(d.place)
	errs := []error{err}
	for name, i := range stale {
		if i.ExternalIDs[idSandbox] != "" {
			d.Log.Info("removing the port of a sandbox that no longer exists", "port", name, "pod", i.ExternalIDs["iface-id"], "sandbox", i.ExternalIDs[idSandbox])
			errs = append(errs, d.vswitch.DeletePort(ctx, integration, name))
		}
	}
	return errors.Join(errs...)
}

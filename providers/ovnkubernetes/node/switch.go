package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// keyInstalled is the external ID of interfaces with which ovn-controller reports that their flows are installed.
const keyInstalled = "ovn-installed"

// newSwitch returns a connection to Open vSwitch's database. fire is called when something but the ports of pods has changed, report when a
// connection ends.
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

// installed reports whether ovn-controller has installed the flows of an interface, policies included.
func installed(i ovs.Interface) bool { return i.ExternalIDs[keyInstalled] == "true" }

// notInstalled is what is missing until it has.
func notInstalled(i ovs.Interface) error {
	if installed(i) {
		return nil
	}
	return fmt.Errorf("ovn-controller has not installed the flows of logical port %s yet", i.ExternalIDs[idInterface])
}

// desiredIDs is the configuration of ovn-controller, which reads it from Open vSwitch's database.
func (d *daemonState) desiredIDs() map[string]string {
	datapath := "system"
	if d.userspace {
		datapath = "netdev"
	}
	return map[string]string{
		"system-id": d.Node, "hostname": d.Node, "ovn-remote": d.Config.South, "ovn-encap-type": "geneve", "ovn-encap-ip": d.Config.TunnelAddress.String(),
		"ovn-bridge-datapath-type": datapath,
		// Conditional monitoring saves memory of small nodes, and costs the one southbound database much more.
		"ovn-monitor-all": "true", "ovn-remote-probe-interval": strconv.FormatInt(d.Config.Probe.Milliseconds(), 10), "ovn-openflow-probe-interval": "180",
		"ovn-ofctrl-wait-before-clear": strconv.FormatInt(clearAfter(d.switchRestarted.Load(), time.Now()).Milliseconds(), 10),
	}
}

const (
	// knowsAll is how long a restarted ovn-controller keeps the flows of its predecessor, until it knows all of its own.
	knowsAll = time.Second
	// reconnects is how long after a restart of ovs-vswitchd ovn-controller has connected to it again: it tries after 1 s, then after 2 and 4 s.
	reconnects = 8 * time.Second
)

// clearAfter is how long ovn-controller waits, after it has connected to Open vSwitch, before it replaces flows. A restarted ovs-vswitchd has none: to
// wait would only lengthen the time in which it drops everything.
func clearAfter(switchRestarted *time.Time, now time.Time) time.Duration {
	if switchRestarted != nil && now.Sub(*switchRestarted) < reconnects {
		return 0
	}
	return knowsAll
}

// configureSwitch configures ovn-controller, and creates the bridge that it programs.
func (d *daemonState) configureSwitch(ctx context.Context) error {
	c, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	want := d.desiredIDs()
	if !d.vswitch.HasRootIDs(want) {
		if err := c.Initialize(ctx, maps.Clone(want)); err != nil {
			return err
		}
	}
	return d.vswitch.EnsureBridge(ctx, ovs.Bridge{Name: integration, Userspace: d.userspace, Secure: true})
}

// connectUnderlay repairs the way of tunnel packets between Open vSwitch and the node.
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

// watchDaemon notices at once that ovs-vswitchd has been started again: it knows neither the route of tunnels nor flows then. Its control socket
// keeps connections that ask nothing until it ends.
func (d *daemonState) watchDaemon(ctx context.Context) {
	for again := false; ctx.Err() == nil; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.Config.Directories.SwitchControl())
		if err != nil {
			agent.Pause(ctx, 100*time.Millisecond, nil)
			continue
		}
		if now := time.Now(); again {
			d.switchRestarted.Store(&now)
		}
		again = true
		d.changed.Fire()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = conn.Read(make([]byte, 1)) // it returns when the process has ended
		stop()
		_ = conn.Close()
	}
}

// restore adds the ports of pods that are missing in Open vSwitch while the pods' links exist: its database was lost. Pods keep their interfaces,
// and get their connections back. A former sandbox of a pod whose newer one has the pod's logical port stays without a port.
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
	wired := map[string]bool{} // logical ports
	for _, i := range ports {
		wired[i.ExternalIDs[idInterface]] = true
	}
	return d.server.Each(ctx, func(c cniserver.Call) bool { return lost[linkName(c)] }, func(ctx context.Context, c cniserver.Call) error {
		return d.restorePort(ctx, c, wired)
	})
}

// restorePort adds the port of an attachment unless its logical port is wired, and notes that it is.
func (d *daemonState) restorePort(ctx context.Context, c cniserver.Call, wired map[string]bool) error {
	given, uid, err := d.objects.pod(c.Pod())
	if err != nil {
		return fmt.Errorf("the port of a pod is missing in Open vSwitch: %w", err)
	}
	ids := podIDs(c, given, uid)
	if wired[ids[idInterface]] {
		return nil
	}
	wired[ids[idInterface]] = true
	name := linkName(c)
	d.Log.Warn("the port of a pod is missing in Open vSwitch and is added again", "port", name, "pod", ids[idInterface])
	configuration, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	return configuration.EnsurePort(ctx, integration, ovs.Port{Name: name, ExternalIDs: ids})
}

// prune removes the ports of pods whose interface does not exist any more: it went with the pod's network namespace.
func (d *daemonState) prune(ctx context.Context) error {
	gone, err := d.vswitch.WithoutLink(d.place)
	errs := []error{err}
	for name, i := range gone {
		if i.ExternalIDs[idSandbox] != "" {
			d.Log.Info("the port of a sandbox that is gone is removed", "port", name, "pod", i.ExternalIDs["iface-id"], "sandbox", i.ExternalIDs[idSandbox])
			errs = append(errs, d.vswitch.DeletePort(ctx, integration, name))
		}
	}
	return errors.Join(errs...)
}

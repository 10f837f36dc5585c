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

// iface is an interface as Open vSwitch's database has it.
type iface struct {
	ids       map[string]string
	ofport    int
	err       string
	installed bool
}

// vswitch is the connection to Open vSwitch's database, and the rows that matter.
type vswitch struct {
	session *ovsdb.Session
	cache   *ovsdb.Cache
	version *agent.Cell[int]
}

// newSwitch returns a connection that run keeps. fire is called when something but the ports of pods has changed, report when a connection ends.
func newSwitch(socket string, fire func(), report func(error)) *vswitch {
	v := &vswitch{version: agent.NewCell(0)}
	v.cache = ovsdb.NewCache("Open_vSwitch", map[string][]string{
		"Open_vSwitch": {"external_ids"}, "Bridge": {"name", "datapath_type"}, "Interface": {"name", "external_ids", "ofport", "error"},
	}, func(changes []ovsdb.Change) {
		v.version.Update(func(n *int) bool { *n++; return true })
		for _, c := range changes {
			if c.Table != "Interface" || c.New == nil || c.New.Text("name") == managementPeer {
				fire()
				return
			}
		}
	})
	v.session = &ovsdb.Session{
		Endpoints: []ovsdb.Endpoint{ovsdb.Unix(socket)}, Database: "Open_vSwitch", Serve: v.cache.Follow,
		Options: ovsdb.Options{MaxBackoff: time.Second},
		Report:  func(_ ovsdb.Endpoint, err error) { report(fmt.Errorf("connect to Open vSwitch: %w", err)) },
	}
	return v
}

func (v *vswitch) run(ctx context.Context) { _ = v.session.Run(ctx) } // it ends with the context

// synced waits until the rows are known. It is false if the context has ended before.
func (v *vswitch) synced(ctx context.Context) bool {
	select {
	case <-v.cache.Synced():
		return true
	case <-ctx.Done():
		return false
	}
}

// configuration returns the connection; it waits a short time for one.
func (v *vswitch) configuration(ctx context.Context) (ovs.Configuration, error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := v.session.Client(limited)
	if err != nil {
		return ovs.Configuration{}, fmt.Errorf("open vswitch does not answer: %w", err)
	}
	return ovs.Configuration{Client: client}, nil
}

// ports returns the interfaces by name.
func (v *vswitch) ports() map[string]iface {
	out := map[string]iface{}
	for _, row := range v.cache.Snapshot().Rows("Interface") {
		ids := row.Map("external_ids")
		out[row.Text("name")] = iface{ids: ids, ofport: row.Int("ofport"), err: row.Text("error"), installed: ids[keyInstalled] == "true"}
	}
	return out
}

func (v *vswitch) port(name string) (iface, bool) {
	i, exists := v.ports()[name]
	return i, exists
}

// ensurePort adds a port, or corrects it. A port that is as it should be is not written: ovn-controller's external IDs would be lost.
func (v *vswitch) ensurePort(ctx context.Context, bridge string, p ovs.Port) error {
	c, err := v.configuration(ctx)
	if err != nil {
		return err
	}
	if i, exists := v.port(p.Name); exists && i.ofport > 0 && contains(i.ids, p.ExternalIDs) {
		return nil
	}
	return c.EnsurePort(ctx, bridge, p)
}

// ensureBridge adds a bridge if it does not exist.
func (v *vswitch) ensureBridge(ctx context.Context, b ovs.Bridge) error {
	want := "system"
	if b.Userspace {
		want = "netdev"
	}
	for _, row := range v.cache.Snapshot().Rows("Bridge") {
		if row.Text("name") == b.Name && row.Text("datapath_type") == want {
			return nil
		}
	}
	c, err := v.configuration(ctx)
	if err != nil {
		return err
	}
	return c.EnsureBridge(ctx, b)
}

// deletePort removes a port of the integration bridge. That there is none is no error.
func (v *vswitch) deletePort(ctx context.Context, name string) error {
	c, err := v.configuration(ctx)
	if err != nil {
		return err
	}
	return c.DeletePort(ctx, integration, name)
}

// await waits until an interface is connected: Open vSwitch has it, and ovn-controller has installed the flows of its logical port, policies
// included. The error says what was missing last.
func (v *vswitch) await(ctx context.Context, name string) error {
	for {
		_, changed := v.version.Get()
		i, exists := v.port(name)
		var err error
		switch {
		case !exists:
			err = errors.New("the port is missing in Open vSwitch")
		case i.err != "":
			err = fmt.Errorf("open vswitch reports: %s", i.err)
		case i.ofport <= 0:
			err = errors.New("open vswitch has not opened the interface yet")
		case !i.installed:
			err = fmt.Errorf("ovn-controller has not installed the flows of logical port %s yet", i.ids["iface-id"])
		default:
			return nil
		}
		if agent.Wait(ctx, changed, nil, nil); ctx.Err() != nil {
			return err
		}
	}
}

// contains reports whether a map has all pairs of another one.
func contains(have, want map[string]string) bool {
	for key, value := range want {
		if got, set := have[key]; !set || got != value {
			return false
		}
	}
	return true
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
		// A restarted ovn-controller replaces flows once it knows all of them, not before.
		"ovn-ofctrl-wait-before-clear": "1000",
	}
}

// configureSwitch configures ovn-controller, and creates the bridge that it programs.
func (d *daemonState) configureSwitch(ctx context.Context) error {
	c, err := d.vswitch.configuration(ctx)
	if err != nil {
		return err
	}
	want := d.desiredIDs()
	right := false
	for _, row := range d.vswitch.cache.Snapshot().Rows("Open_vSwitch") {
		right = contains(row.Map("external_ids"), want)
	}
	if !right {
		if err := c.Initialize(ctx, maps.Clone(want)); err != nil {
			return err
		}
	}
	return d.vswitch.ensureBridge(ctx, ovs.Bridge{Name: integration, Userspace: d.userspace, Secure: true})
}

// connectUnderlay repairs the way of tunnel packets between Open vSwitch and the node.
func (d *daemonState) connectUnderlay(ctx context.Context) error {
	if !d.userspace {
		return nil
	}
	mtu, err := underlayMTU(d.Config.TunnelAddress)
	if err != nil {
		return err
	}
	d.underlay.MTU = mtu
	if _, err := d.place.links(); err != nil {
		return err // the process that runs Open vSwitch creates the namespace
	}
	if err := d.underlay.Prepare(ctx); err != nil {
		return err
	}
	if err := d.vswitch.ensureBridge(ctx, ovs.Bridge{Name: d.underlay.Bridge, Userspace: true}); err != nil {
		return err
	}
	if err := d.vswitch.ensurePort(ctx, d.underlay.Bridge, d.underlay.UplinkPort()); err != nil {
		return err
	}
	return d.underlay.Connect(ctx, ovs.Control(d.Config.Directories.SwitchControl()))
}

// watchDaemon notices at once that ovs-vswitchd has been started again: it does not know the next hop of tunnels then. Its control socket
// keeps connections that ask nothing until it ends.
func (d *daemonState) watchDaemon(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.Config.Directories.SwitchControl())
		if err != nil {
			agent.Pause(ctx, 100*time.Millisecond, nil)
			continue
		}
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
	links, err := d.place.links()
	if err != nil {
		return err
	}
	ports := d.vswitch.ports()
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
		wired[i.ids[idInterface]] = true
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
	configuration, err := d.vswitch.configuration(ctx)
	if err != nil {
		return err
	}
	return configuration.EnsurePort(ctx, integration, ovs.Port{Name: name, ExternalIDs: ids})
}

// prune removes the ports of pods whose interface does not exist any more: it went with the pod's network namespace.
func (d *daemonState) prune(ctx context.Context) error {
	links, err := d.place.links()
	if err != nil {
		return err
	}
	var errs []error
	for name, i := range d.vswitch.ports() {
		if i.ids[idSandbox] != "" && !links[name] {
			d.Log.Info("the port of a sandbox that is gone is removed", "port", name, "pod", i.ids["iface-id"], "sandbox", i.ids[idSandbox])
			errs = append(errs, d.vswitch.deletePort(ctx, name))
		}
	}
	return errors.Join(errs...)
}

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// switchSchema is the path of the database schema of Open vSwitch in the image.
const switchSchema = "/usr/share/openvswitch/vswitch.ovsschema"

// External IDs of pod interfaces, from which the agent computes their flows.
const (
	idSandbox   = "sandbox"
	idAddress   = "ip"
	idNamespace = "pod-namespace"
	idName      = "pod-name"
	idUID       = "pod-uid"
	idIngress   = "ingress-kilobits"
	idEgress    = "egress-kilobits"
)

// Switch runs ovsdb-server and ovs-vswitchd until the context ends. With the userspace datapath, ovs-vswitchd runs in its own network namespace. The
// namespace, bridges and ports stay when the context ends.
func Switch(ctx context.Context, c agentconfig.Config, log *slog.Logger) error {
	s := ovs.Switch{RunDir: c.SwitchRunDir, DataDir: c.SwitchDataDir, Schema: switchSchema, Log: log}
	underlay, userspace, err := underlayOf(c)
	if err != nil {
		return err
	}
	if userspace {
		log.Info("Open vSwitch uses its userspace datapath", "namespace", underlay.Namespace)
		s.Userspace, s.Namespace = true, underlay.Path()
		if err := underlay.PrepareNamespace(); err != nil {
			return err
		}
	}
	return s.Run(ctx)
}

// underlayOf returns the underlay for tunnel packets, without the node's address and MTU, and whether it is used: with the kernel datapath the node's own
// network is the underlay.
func underlayOf(c agentconfig.Config) (ovs.Underlay, bool, error) {
	kernel, err := ovs.KernelDatapath()
	return ovs.Underlay{
		Namespace: c.SwitchNamespace, Bridge: agentconfig.TunnelBridge, Ports: tunnelPorts(c), ProcSys: c.ProcSys,
	}, !kernel, err
}

// tunnelPorts returns the UDP ports of tunnels.
func tunnelPorts(c agentconfig.Config) []uint16 { return []uint16{uint16(c.VXLANPort)} }

func switchSocket(c agentconfig.Config) string { return filepath.Join(c.SwitchRunDir, "db.sock") }

func switchControl(c agentconfig.Config) ovs.Control {
	return ovs.Control(filepath.Join(c.SwitchRunDir, "ovs-vswitchd.ctl"))
}

// configureSwitch creates the bridge with the VXLAN port.
func (d *daemon) configureSwitch(ctx context.Context) error {
	root := ovs.Root{ExternalIDs: map[string]string{"system-id": d.Node, "hostname": d.Node}}
	if !d.Config.ExternalSwitch {
		root.Options = ovs.OwnOptions()
	}
	if !d.vswitch.HasRoot(root) {
		c, err := d.vswitch.Configuration(ctx)
		if err != nil {
			return err
		}
		if err := c.Initialize(ctx, root); err != nil {
			return err
		}
	}
	bridge := ovs.Bridge{Name: agentconfig.Bridge, Userspace: d.userspace, Secure: true}
	missing := !d.vswitch.HasBridge(bridge)
	if err := d.vswitch.EnsureBridge(ctx, bridge); err != nil {
		return err
	}
	d.repairs.Ensured("bridge "+agentconfig.Bridge, "", missing)
	if missing {
		d.bridges++
	}
	return d.ensurePort(ctx, ovs.Port{
		Name: agentconfig.VXLAN, Type: "vxlan", Number: flows.TunnelPort,
		Options: map[string]string{"remote_ip": "flow", "key": "flow", "dst_port": strconv.Itoa(d.Config.VXLANPort)},
	}, 0)
}

// ensurePort adds a port that every node has, and returns an error if it has the wrong number. Adding a missing port counts as a repair unless the bridge or
// the interface (index) was replaced.
func (d *daemon) ensurePort(ctx context.Context, p ovs.Port, index int) error {
	_, existed := d.vswitch.Interface(p.Name)
	if err := d.vswitch.EnsurePort(ctx, agentconfig.Bridge, p); err != nil {
		return err
	}
	d.repairs.Ensured(fmt.Sprintf("port %s of bridge %s", p.Name, agentconfig.Bridge), fmt.Sprint(d.bridges, index), !existed)
	if i, exists := d.vswitch.Interface(p.Name); exists && i.Port > 0 && i.Port != int(p.Number) {
		return errors.Join(
			fmt.Errorf("port %s of bridge %s has number %d, not %d; it is created again", p.Name, agentconfig.Bridge, i.Port, p.Number),
			d.vswitch.DeletePort(ctx, agentconfig.Bridge, p.Name),
		)
	}
	return nil
}

// connectUnderlay repairs the underlay between Open vSwitch and the node.
func (d *daemon) connectUnderlay(ctx context.Context, address netip.Addr) error {
	mtu, err := ovs.MTUOf(address)
	if err != nil {
		return err
	}
	if limit := mtu - agentconfig.VXLANOverhead; d.Config.PodMTU() > limit {
		return fmt.Errorf("the interface of node %s with address %s has MTU %d, and pods with MTU %d need %d more for VXLAN; an MTU of %d fits", d.Node, address, mtu, d.Config.PodMTU(), agentconfig.VXLANOverhead, limit)
	}
	if !d.userspace {
		return nil
	}
	d.underlay.MTU, d.underlay.Node = mtu, address
	if _, err := d.place.Links(); err != nil {
		return err // the process that runs Open vSwitch creates the namespace
	}
	if err := d.prepareUnderlay(ctx); err != nil {
		return err
	}
	if err := d.vswitch.EnsureBridge(ctx, ovs.Bridge{Name: d.underlay.Bridge, Userspace: true}); err != nil {
		return err
	}
	if err := d.vswitch.EnsurePort(ctx, d.underlay.Bridge, d.underlay.UplinkPort()); err != nil {
		return err
	}
	return d.underlay.Connect(ctx, switchControl(d.Config))
}

// prepareUnderlay prepares the underlay, and records whether a third party had changed its rules.
func (d *daemon) prepareUnderlay(ctx context.Context) error {
	t := underlayRules(d.Config, d.underlay.Node)
	changed, err := d.translation.modified(ctx, t)
	if err != nil {
		return err
	}
	if changed {
		d.repairs.Made(t.title())
	}
	if err := d.underlay.Prepare(ctx); err != nil {
		return err
	}
	return d.translation.record(ctx, t)
}

// underlayRules returns the nftables table of the underlay.
func underlayRules(c agentconfig.Config, address netip.Addr) nftTable {
	t := nftTable{family: knftables.IPv4Family, name: ovs.UnderlayTable}
	for _, c := range (ovs.Underlay{Ports: tunnelPorts(c), Node: address}).Chains() {
		t.chains = append(t.chains, chain{name: c.Name, kind: knftables.FilterType, hook: c.Hook, priority: c.Priority, rules: c.Rules})
	}
	return t
}

// resumeUnderlay restores the tunnels of an earlier process while the node's address is unknown because the API server does not respond: Open vSwitch may have
// restarted in the meantime.
func (d *daemon) resumeUnderlay(ctx context.Context) error {
	if _, exists := d.vswitch.Interface(d.underlay.Bridge); !d.userspace || !exists {
		return nil
	}
	if err := d.underlay.Route(ctx, switchControl(d.Config)); err != nil {
		return fmt.Errorf("restore the tunnels of an earlier process: %w", err)
	}
	return nil
}

// watchDaemon triggers a reconcile when ovs-vswitchd restarts, since it loses the route of tunnels. It keeps a connection to the control socket, which ends
// with the process.
func (d *daemon) watchDaemon(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", string(switchControl(d.Config)))
		if err != nil {
			agent.Pause(ctx, 100*time.Millisecond, nil)
			continue
		}
		d.changed.Fire()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = conn.Read(make([]byte, 1)) // returns when the process has ended
		stop()
		_ = conn.Close()
	}
}

// podIDs returns the external IDs of a pod's interface.
func podIDs(c cniserver.Call, address netip.Addr, limits bandwidth.Limits) map[string]string {
	pod := c.Pod()
	ids := map[string]string{idSandbox: c.ContainerID, idAddress: address.String(), idNamespace: pod.Namespace, idName: pod.Name, idUID: pod.UID}
	for name, kilobits := range map[string]uint64{idIngress: limits.Ingress, idEgress: limits.Egress} {
		if kilobits > 0 {
			ids[name] = strconv.FormatUint(kilobits, 10)
		}
	}
	return ids
}

// limitsOf reads the bandwidth limits from the external IDs of a pod's interface.
func limitsOf(ids map[string]string) (l bandwidth.Limits) {
	for name, to := range map[string]*uint64{idIngress: &l.Ingress, idEgress: &l.Egress} {
		*to, _ = strconv.ParseUint(ids[name], 10, 64) // last by the agent; missing if there is no limit
	}
	return l
}

// podPort returns the port of a pod. Its number is derived from the address, so that it stays the same if the database is lost.
func podPort(c cniserver.Call, block netip.Prefix, address netip.Addr, limits bandwidth.Limits) ovs.Port {
	number := flows.NodePort + offset(block, address)
	if number > 0xfe00 { // the highest OpenFlow port number
		number = 0
	}
	return ovs.Port{Name: linkName(c), Number: number, ExternalIDs: podIDs(c, address, limits)}
}

// offset returns the index of an address in a block.
func offset(block netip.Prefix, address netip.Addr) uint32 {
	var n uint32
	first, a := block.Masked().Addr().As4(), address.As4()
	for i := range a {
		n = n<<8 + uint32(a[i]) - uint32(first[i])
	}
	return n
}

// locals returns the attached pods in the database of Open vSwitch.
func (d *daemon) locals() []local { return localsOf(d.vswitch.Interfaces()) }

// localsOf returns the attached pods among interfaces. It ignores those with an address that no pod can have, which is of another client of the database.
func localsOf(interfaces map[string]ovs.Interface) []local {
	var out []local
	for _, i := range interfaces {
		address, err := netip.ParseAddr(i.ExternalIDs[idAddress])
		if i.ExternalIDs[idSandbox] == "" || err != nil || !address.Is4() || i.Port <= 0 {
			continue
		}
		out = append(out, local{
			ID: netpolicy.ID{Namespace: i.ExternalIDs[idNamespace], Name: i.ExternalIDs[idName]}, UID: i.ExternalIDs[idUID], Address: address, Port: uint32(i.Port),
			Limits: limitsOf(i.ExternalIDs),
		})
	}
	return out
}

// restore adds ports that are missing in Open vSwitch although the pods' links exist: the database was lost. A former sandbox of a pod gets no port.
func (d *daemon) restore(ctx context.Context, block netip.Prefix) error {
	links, err := d.place.Links()
	if err != nil {
		return err
	}
	ports := d.vswitch.Interfaces()
	lost := func(c cniserver.Call) bool {
		_, exists := ports[linkName(c)]
		return !exists && links[linkName(c)]
	}
	var restored atomic.Bool
	defer func() {
		d.repairs.Ensured("the ports of pods of bridge "+agentconfig.Bridge, fmt.Sprint(d.bridges), restored.Load())
	}()
	return d.server.Each(ctx, lost, func(ctx context.Context, c cniserver.Call) error {
		given, err := d.addresses.of(c.ContainerID, c.IfName)
		if err != nil {
			return fmt.Errorf("the port of a pod is missing in Open vSwitch: %w", err)
		}
		pod, err := d.objects.pod(c.Pod())
		if err != nil {
			return fmt.Errorf("the port of a pod is missing in Open vSwitch: %w", err)
		}
		limits, err := bandwidth.Read(pod.Annotations)
		if err != nil {
			// The limits were valid when the pod was attached.
			d.Log.Warn("restoring the port of a pod without bandwidth limits", "pod", c.Pod().Namespace+"/"+c.Pod().Name, "error", err)
		}
		configuration, err := d.vswitch.Configuration(ctx)
		if err != nil {
			return err
		}
		port := podPort(c, block, given, limits)
		added, err := configuration.EnsureClaimedPort(ctx, agentconfig.Bridge, port, podClaims(port)...)
		if added {
			restored.Store(true)
			d.Log.Warn("restored the port of a pod, which was missing in Open vSwitch", "port", port.Name, "pod", c.Pod().Namespace+"/"+c.Pod().Name)
		}
		return err
	})
}

// prune removes the ports of pods whose interface was deleted with the pod's network namespace.
func (d *daemon) prune(ctx context.Context) error {
	stale, err := d.vswitch.WithoutLink(d.place)
	errs := []error{err}
	for name, i := range stale {
		if i.ExternalIDs[idSandbox] != "" {
			d.Log.Info("removing the port of a sandbox that no longer exists", "port", name, "pod", i.ExternalIDs[idNamespace]+"/"+i.ExternalIDs[idName], "sandbox", i.ExternalIDs[idSandbox])
			errs = append(errs, d.vswitch.DeletePort(ctx, agentconfig.Bridge, name))
		}
	}
	return errors.Join(errs...)
}

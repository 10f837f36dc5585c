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
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// switchSchema is the schema of Open vSwitch's database in images.
const switchSchema = "/usr/share/openvswitch/vswitch.ovsschema"

// The external IDs of pods' interfaces: what the agent needs to compute their flows.
const (
	idSandbox   = "sandbox"
	idAddress   = "ip"
	idNamespace = "pod-namespace"
	idName      = "pod-name"
	idUID       = "pod-uid"
	idIngress   = "ingress-kilobits"
	idEgress    = "egress-kilobits"
)

// Switch runs ovsdb-server and ovs-vswitchd until the context ends. Where the kernel has no datapath for it, ovs-vswitchd has a network namespace of
// its own, which stays when the context ends, as do bridges and ports.
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

// underlayOf returns the way of tunnel packets, without the node's address and MTU, and whether there is one: with the kernel's datapath it is the
// node's own network.
func underlayOf(c agentconfig.Config) (ovs.Underlay, bool, error) {
	kernel, err := ovs.KernelDatapath()
	return ovs.Underlay{
		Namespace: c.SwitchNamespace, Bridge: agentconfig.TunnelBridge, Ports: []uint16{uint16(c.VXLANPort)}, ProcSys: c.ProcSys,
	}, !kernel, err
}

func switchSocket(c agentconfig.Config) string { return filepath.Join(c.SwitchRunDir, "db.sock") }

func switchControl(c agentconfig.Config) ovs.Control {
	return ovs.Control(filepath.Join(c.SwitchRunDir, "ovs-vswitchd.ctl"))
}

// configureSwitch creates the bridge with the ports that every node has.
func (d *daemon) configureSwitch(ctx context.Context) error {
	ids := map[string]string{"system-id": d.Node, "hostname": d.Node}
	if !d.vswitch.HasRootIDs(ids) {
		c, err := d.vswitch.Configuration(ctx)
		if err != nil {
			return err
		}
		if err := c.Initialize(ctx, ids); err != nil {
			return err
		}
	}
	if err := d.vswitch.EnsureBridge(ctx, ovs.Bridge{Name: agentconfig.Bridge, Userspace: d.userspace, Secure: true}); err != nil {
		return err
	}
	return d.ensurePort(ctx, ovs.Port{
		Name: agentconfig.VXLAN, Type: "vxlan", Number: flows.TunnelPort,
		Options: map[string]string{"remote_ip": "flow", "key": "flow", "dst_port": strconv.Itoa(d.Config.VXLANPort)},
	})
}

// ensurePort adds a port that every node has, and reports if it has not got its number.
func (d *daemon) ensurePort(ctx context.Context, p ovs.Port) error {
	if err := d.vswitch.EnsurePort(ctx, agentconfig.Bridge, p); err != nil {
		return err
	}
	if i, exists := d.vswitch.Interface(p.Name); exists && i.Port > 0 && i.Port != int(p.Number) {
		return errors.Join(
			fmt.Errorf("port %s of bridge %s has number %d, not %d; it is created again", p.Name, agentconfig.Bridge, i.Port, p.Number),
			d.vswitch.DeletePort(ctx, agentconfig.Bridge, p.Name),
		)
	}
	return nil
}

// connectUnderlay repairs the way of tunnel packets between Open vSwitch and the node.
func (d *daemon) connectUnderlay(ctx context.Context, address netip.Addr) error {
	mtu, err := ovs.MTUOf(address)
	if err != nil {
		return err
	}
	if most := mtu - agentconfig.VXLANOverhead; d.Config.PodMTU() > most {
		return fmt.Errorf("the interface of node %s with address %s has MTU %d, and pods with MTU %d need %d more for VXLAN; an MTU of %d fits", d.Node, address, mtu, d.Config.PodMTU(), agentconfig.VXLANOverhead, most)
	}
	if !d.userspace {
		return nil
	}
	d.underlay.MTU, d.underlay.Node = mtu, address
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
	return d.underlay.Connect(ctx, switchControl(d.Config))
}

// resumeUnderlay lets tunnels work that an earlier process has made, while the node's address is not known since the API server does not answer:
// Open vSwitch may have restarted meanwhile.
func (d *daemon) resumeUnderlay(ctx context.Context) error {
	if _, exists := d.vswitch.Interface(d.underlay.Bridge); !d.userspace || !exists {
		return nil
	}
	if err := d.underlay.Route(ctx, switchControl(d.Config)); err != nil {
		return fmt.Errorf("let the tunnels of an earlier process work: %w", err)
	}
	return nil
}

// watchDaemon notices at once that ovs-vswitchd has been started again: it does not know the route of tunnels then. Its control socket
// keeps connections that ask nothing until it ends.
func (d *daemon) watchDaemon(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", string(switchControl(d.Config)))
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

// podIDs are the external IDs of a pod's interface.
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

// limitsOf reads the limits in the external IDs of a pod's interface.
func limitsOf(ids map[string]string) (l bandwidth.Limits) {
	for name, to := range map[string]*uint64{idIngress: &l.Ingress, idEgress: &l.Egress} {
		*to, _ = strconv.ParseUint(ids[name], 10, 64) // the agent writes them; without one there is no limit
	}
	return l
}

// podPort is the port of a pod. Its number follows from the address, so that it is the same after the database was lost.
func podPort(c cniserver.Call, block netip.Prefix, address netip.Addr, limits bandwidth.Limits) ovs.Port {
	number := flows.NodePort + offset(block, address)
	if number > 0xfe00 { // OpenFlow's ports end there
		number = 0
	}
	return ovs.Port{Name: linkName(c), Number: number, ExternalIDs: podIDs(c, address, limits)}
}

// offset is the place of an address in a block.
func offset(block netip.Prefix, address netip.Addr) uint32 {
	var n uint32
	first, a := block.Masked().Addr().As4(), address.As4()
	for i := range a {
		n = n<<8 + uint32(a[i]) - uint32(first[i])
	}
	return n
}

// locals are the pods that are attached, as Open vSwitch's database has them.
func (d *daemon) locals() []local {
	var out []local
	for _, i := range d.vswitch.Interfaces() {
		address, err := netip.ParseAddr(i.ExternalIDs[idAddress])
		if i.ExternalIDs[idSandbox] == "" || err != nil || i.Port <= 0 {
			continue
		}
		out = append(out, local{
			ID: netpolicy.ID{Namespace: i.ExternalIDs[idNamespace], Name: i.ExternalIDs[idName]}, UID: i.ExternalIDs[idUID], Address: address, Port: uint32(i.Port),
			Limits: limitsOf(i.ExternalIDs),
		})
	}
	return out
}

// restore adds the ports of pods that are missing in Open vSwitch while the pods' links exist: its database was lost.
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
			// They were valid when the pod was attached.
			d.Log.Warn("a pod gets its port back without limits of its bandwidth", "pod", c.Pod().Namespace+"/"+c.Pod().Name, "error", err)
		}
		d.Log.Warn("the port of a pod is missing in Open vSwitch and is added again", "port", linkName(c), "pod", c.Pod().Namespace+"/"+c.Pod().Name)
		d.metrics.repairs.Inc()
		configuration, err := d.vswitch.Configuration(ctx)
		if err != nil {
			return err
		}
		return configuration.EnsurePort(ctx, agentconfig.Bridge, podPort(c, block, given, limits))
	})
}

// prune removes the ports of pods whose interface does not exist any more: it went with the pod's network namespace.
func (d *daemon) prune(ctx context.Context) error {
	gone, err := d.vswitch.WithoutLink(d.place)
	errs := []error{err}
	for name, i := range gone {
		if i.ExternalIDs[idSandbox] != "" {
			d.Log.Info("the port of a sandbox that is gone is removed", "port", name, "pod", i.ExternalIDs[idNamespace]+"/"+i.ExternalIDs[idName], "sandbox", i.ExternalIDs[idSandbox])
			errs = append(errs, d.vswitch.DeletePort(ctx, agentconfig.Bridge, name))
		}
	}
	return errors.Join(errs...)
}

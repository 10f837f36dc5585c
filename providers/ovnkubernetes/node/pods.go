package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	// Timeouts of an ADD: readyTimeout for the agent, which may have just been started; addressTimeout for the master; wiringTimeout for ovn-controller. The
	// timeout of the shim is 100 seconds in total.
	readyTimeout   = 20 * time.Second
	addressTimeout = 40 * time.Second
	wiringTimeout  = 40 * time.Second

	// External IDs of pod interfaces.
	idInterface = "iface-id"
	idVersion   = "iface-id-ver"
	idMAC       = "attached_mac"
	idSandbox   = "sandbox"
)

// pods attaches pods. Each has a link whose node's end is a port of the integration bridge, bound to the pod's logical port.
type pods struct {
	// ready reports whether pods can be attached, and returns a channel that is closed when that may have changed.
	ready     func() (bool, <-chan struct{})
	objects   *objects
	vswitch   *ovs.Database
	place     ovs.Place
	userspace bool
	// mtu returns the MTU of new links.
	mtu    func() mtumigration.State
	events *cniserver.Events
}

var _ cniserver.Handler = (*pods)(nil)

// Status implements cniserver.Handler.
func (p *pods) Status(context.Context) error {
	if ready, _ := p.ready(); !ready {
		return cniproto.Errorf(cniproto.CodeNotAvailable, "the agent is not ready; see its /readyz for the reason")
	}
	return nil
}

// Add implements cniserver.Handler. It returns when ovn-controller has installed the flows of the pod, including those of policies.
func (p *pods) Add(ctx context.Context, c cniserver.Call) (*current.Result, error) {
	pod := c.Pod()
	if pod.Name == "" || pod.Namespace == "" {
		return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_ARGS has no K8S_POD_NAMESPACE and K8S_POD_NAME: only pods can be attached")
	}
	if !p.awaitReady(ctx) {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent is not ready; see its /readyz for the reason")
	}
	given, uid, err := p.awaitAddresses(ctx, pod)
	if err != nil {
		return nil, err
	}
	if err := p.objects.limits(pod); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
	mtu := p.mtu()
	l := ovs.PodLink{
		Name: linkName(c), Pod: c.NetNS, PodName: c.IfName, MTU: mtu.MTU, RoutableMTU: mtu.RoutableMTU, MAC: given.MAC, Addresses: given.Addresses, Routes: routes(given), Place: p.place, Userspace: p.userspace,
	}
	hostMAC, err := l.Create()
	if err != nil {
		return nil, err
	}
	if err := p.wire(ctx, l.Name, podIDs(c, given, uid)); err != nil {
		return nil, err
	}
	if err := p.awaitWiring(ctx, l.Name, pod); err != nil {
		return nil, err
	}
	return result(c, l, hostMAC.String(), given), nil
}

func (p *pods) awaitReady(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		ready, changed := p.ready()
		if ready {
			return true
		}
		if agent.Wait(limited, changed, nil, nil); limited.Err() != nil {
			return false
		}
	}
}

func (p *pods) awaitAddresses(ctx context.Context, pod cniserver.Pod) (topology.Pod, string, error) {
	limited, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	given, uid, err := p.objects.await(limited, pod)
	if err != nil {
		return given, "", p.timeoutError(ctx, pod, "waited for the pod's addresses", err)
	}
	return given, uid, nil
}

func (p *pods) awaitWiring(ctx context.Context, port string, pod cniserver.Pod) error {
	limited, cancel := context.WithTimeout(ctx, wiringTimeout)
	defer cancel()
	if _, err := p.vswitch.Await(limited, port, notInstalled); err != nil {
		return p.timeoutError(ctx, pod, "waited for the pod's port", err)
	}
	return nil
}

// timeoutError returns the error of a wait that timed out: the runtime retries, and an event on the pod reports what was missing.
func (p *pods) timeoutError(ctx context.Context, pod cniserver.Pod, what string, err error) error {
	err = cniproto.Errorf(cniproto.CodeTryAgain, "%s: %v", what, err)
	if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.events.Failed(pod, err)
	}
	return err
}

// podIDs returns the external IDs of a pod's interface, by which ovn-controller binds it to the pod's logical port.
func podIDs(c cniserver.Call, given topology.Pod, uid string) map[string]string {
	pod := c.Pod()
	return map[string]string{idInterface: topology.PodPort(pod.Namespace, pod.Name), idVersion: uid, idMAC: given.MAC.String(), idSandbox: c.ContainerID}
}

// wire adds the interface to the integration bridge, in place of those of earlier sandboxes of the pod: two with the same logical port would compete for it.
func (p *pods) wire(ctx context.Context, name string, ids map[string]string) error {
	c, err := p.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	return c.ReplacePorts(ctx, integration, ovs.Port{Name: name, ExternalIDs: ids}, logicalPort(ids))
}

// logicalPort is what only one interface may have: ovn-controller binds a logical port to a single one.
func logicalPort(ids map[string]string) ovs.Claim {
	return ovs.Claim{idInterface: ids[idInterface]}
}

// result returns the CNI result of an attachment.
func result(c cniserver.Call, l ovs.PodLink, hostMAC string, given topology.Pod) *current.Result {
	r := &current.Result{Interfaces: []*current.Interface{
		{Name: l.Name, Mac: hostMAC, Mtu: l.MTU}, {Name: c.IfName, Mac: given.MAC.String(), Mtu: l.MTU, Sandbox: c.NetNS},
	}}
	for i, a := range given.Addresses {
		r.IPs = append(r.IPs, &current.IPConfig{Interface: new(1), Address: *netaddr.IPNet(a), Gateway: given.Gateways[i].AsSlice()})
	}
	return r
}

// Del implements cniserver.Handler.
func (p *pods) Del(ctx context.Context, c cniserver.Call) error {
	name := linkName(c)
	// The database is authoritative; the cached copy may lag.
	return errors.Join(p.vswitch.DeletePort(ctx, integration, name), p.place.Remove(name))
}

// Check implements cniserver.Handler.
func (p *pods) Check(_ context.Context, c cniserver.Call, added *current.Result) error {
	name := linkName(c)
	i, exists := p.vswitch.Interface(name)
	switch {
	case !exists:
		return fmt.Errorf("the port %s of the pod is missing in Open vSwitch", name)
	case i.Error != "":
		return fmt.Errorf("port %s: open vswitch reports: %s", name, i.Error)
	case i.ExternalIDs[idSandbox] != c.ContainerID:
		return fmt.Errorf("the port %s belongs to sandbox %q", name, i.ExternalIDs[idSandbox])
	case !installed(i):
		return fmt.Errorf("ovn-controller has not installed the flows of logical port %s", i.ExternalIDs[idInterface])
	}
	var want []netip.Prefix
	for _, ip := range added.IPs {
		if a, ok := netaddr.FromIPNet(&ip.Address); ok {
			want = append(want, a)
		}
	}
	addresses, err := ovs.PodAddresses(c.NetNS, c.IfName)
	if err != nil {
		return err
	}
	for _, a := range want {
		if !slices.Contains(addresses, a) {
			return fmt.Errorf("interface %s of the pod lacks address %s", c.IfName, a)
		}
	}
	return nil
}

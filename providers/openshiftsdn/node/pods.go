package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	// Timeouts of an ADD: readyTimeout for the agent, which may have just been started; objectsTimeout for the pod and the VNID of its namespace; flowsTimeout
	// for its flows. The timeout of the shim is 100 seconds in total.
	readyTimeout   = 20 * time.Second
	objectsTimeout = 40 * time.Second
	flowsTimeout   = 30 * time.Second

	// linkPrefix is the name prefix of the node's ends of pod links.
	linkPrefix = "sdnp"
)

// linkName returns the name of the node's end of an attachment's link.
func linkName(c cniserver.Call) string { return ovs.PodLinkName(linkPrefix, c.ContainerID, c.IfName) }

var multicast = netip.MustParsePrefix("224.0.0.0/4")

// Status implements cniserver.Handler.
func (d *daemon) Status(context.Context) error {
	if !d.board.View().Status.ready {
		return cniproto.Errorf(cniproto.CodeNotAvailable, "the agent is not ready; see its /readyz for the reason")
	}
	return nil
}

// Add implements cniserver.Handler. It returns after the flows of the pod and of all policies that select it are installed; no packet passes before.
func (d *daemon) Add(ctx context.Context, c cniserver.Call) (*current.Result, error) {
	pod := c.Pod()
	if pod.Name == "" || pod.Namespace == "" {
		return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_ARGS has no K8S_POD_NAMESPACE and K8S_POD_NAME: only pods can be attached")
	}
	block, err := d.awaitReady(ctx)
	if err != nil {
		return nil, err
	}
	object, err := d.awaitObjects(ctx, pod)
	if err != nil {
		return nil, err
	}
	requests, err := requested(object)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
	address, err := d.addresses.give(block, c.ContainerID, c.IfName)
	if err != nil {
		return nil, err
	}
	l := d.podLink(c, block, address)
	hostMAC, err := l.Create()
	if err != nil {
		return nil, err
	}
	if err := requests.addMacvlan(c.NetNS); err != nil {
		return nil, err
	}
	if err := d.wire(ctx, c, block, address, requests.limits); err != nil {
		return nil, err
	}
	return &current.Result{
		Interfaces: []*current.Interface{
			{Name: l.Name, Mac: hostMAC.String(), Mtu: l.MTU}, {Name: c.IfName, Mac: l.MAC.String(), Mtu: l.MTU, Sandbox: c.NetNS},
		},
		IPs: []*current.IPConfig{{Interface: new(1), Address: *netaddr.IPNet(l.Addresses[0]), Gateway: flows.RouterAddress(block).AsSlice()}},
	}, nil
}

// podLink returns the link of a pod. The node is the next hop except to pods, which are on-link.
func (d *daemon) podLink(c cniserver.Call, block netip.Prefix, address netip.Addr) ovs.PodLink {
	router := flows.RouterAddress(block)
	l := ovs.PodLink{
		Name: linkName(c), Pod: c.NetNS, PodName: c.IfName, MTU: d.Config.MTU, RoutableMTU: d.Config.Migration.Routable(), MAC: flows.PodMAC(address), Place: d.place, Userspace: d.userspace,
		Addresses: []netip.Prefix{netip.PrefixFrom(address, block.Bits())},
		Routes:    []ovs.Route{{To: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: router}, {To: d.Config.ServiceNetwork, Via: router}, {To: multicast}},
	}
	for _, p := range d.Config.Pools() {
		l.Routes = append(l.Routes, ovs.Route{To: p})
	}
	return l
}

// awaitReady waits until pods can be attached, and returns the node's block.
func (d *daemon) awaitReady(ctx context.Context) (netip.Prefix, error) {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		view, changed := d.board.Get()
		if view.Status.ready {
			return view.Status.block, nil
		}
		if agent.Wait(limited, changed, nil, nil); limited.Err() != nil {
			return netip.Prefix{}, cniproto.Errorf(cniproto.CodeTryAgain, "the agent is not ready; see its /readyz for the reason")
		}
	}
}

// awaitObjects waits for the pod and the VNID of its namespace.
func (d *daemon) awaitObjects(ctx context.Context, pod cniserver.Pod) (*corev1.Pod, error) {
	limited, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	for {
		_, changed := d.objects.version.Get()
		found, err := d.objects.pod(pod)
		if err == nil {
			err = d.knownVNID(pod.Namespace)
		}
		if err == nil {
			return found, nil
		}
		if agent.Wait(limited, changed, nil, nil); limited.Err() != nil {
			return nil, d.timeoutError(ctx, pod, "waited for the API server", err)
		}
	}
}

// knownVNID returns an error if the VNID of a namespace is unknown.
func (d *daemon) knownVNID(namespace string) error {
	if d.Config.Mode == agentconfig.Subnet {
		return nil
	}
	vnids, err := d.vnids.Get()
	if err != nil {
		return err
	}
	if _, known := vnids[namespace]; !known {
		d.metrics.vnidErrors.Inc()
		return fmt.Errorf("namespace %s has no NetNamespace with a VNID of its own; openshift-sdn-controller creates it", namespace)
	}
	return nil
}

// computeVNIDs returns the VNIDs of all namespaces that have one.
func (d *daemon) computeVNIDs() (map[string]uint32, error) {
	var want desired
	want.vnids(d.snapshot())
	return want.Input.VNIDs, nil
}

// timeoutError returns the error of a wait that timed out: the runtime retries, and an event on the pod reports what was missing.
func (d *daemon) timeoutError(ctx context.Context, pod cniserver.Pod, what string, err error) error {
	err = cniproto.Errorf(cniproto.CodeTryAgain, "%s: %v", what, err)
	if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		d.events.Failed(pod, err)
	}
	return err
}

// wire adds the interface to the bridge, in place of those of earlier sandboxes of the pod, and waits for its flows.
func (d *daemon) wire(ctx context.Context, c cniserver.Call, block netip.Prefix, address netip.Addr, limits bandwidth.Limits) error {
	port := podPort(c, block, address, limits)
	configuration, err := d.vswitch.Configuration(ctx)
	if err != nil {
		return err
	}
	if err := configuration.ReplacePorts(ctx, agentconfig.Bridge, port, podClaims(port)...); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, flowsTimeout)
	defer cancel()
	if _, err := d.vswitch.Await(limited, port.Name, nil); err != nil {
		return d.timeoutError(ctx, c.Pod(), "waited for the pod's port", err)
	}
	applied, err := d.program()
	if err != nil {
		return err
	}
	if agent.Wait(limited, applied, nil, nil); limited.Err() != nil {
		return d.timeoutError(ctx, c.Pod(), "waited for the pod's flows", errors.Join(d.flowsProblem(), limited.Err()))
	}
	if d.outside == nil {
		return nil
	}
	if agent.Wait(limited, d.outside.applied(), nil, nil); limited.Err() != nil {
		return d.timeoutError(ctx, c.Pod(), "waited for the pod's rules of nftables", limited.Err())
	}
	return nil
}

// podClaims are what only one port may have: the name of a pod, by which policies select ports, and an address.
func podClaims(p ovs.Port) []ovs.Claim {
	return []ovs.Claim{
		{idNamespace: p.ExternalIDs[idNamespace], idName: p.ExternalIDs[idName]},
		{idAddress: p.ExternalIDs[idAddress]},
	}
}

// Del implements cniserver.Handler. It releases the address last.
func (d *daemon) Del(ctx context.Context, c cniserver.Call) error {
	name := linkName(c)
	if err := errors.Join(d.vswitch.DeletePort(ctx, agentconfig.Bridge, name), d.place.Remove(name)); err != nil {
		return err
	}
	return d.addresses.release(c.ContainerID, c.IfName)
}

// Check implements cniserver.Handler. It compares the port, the link and the flows of the pod with what Add has installed.
func (d *daemon) Check(ctx context.Context, c cniserver.Call, added *current.Result) error {
	i, exists := d.vswitch.Interface(linkName(c))
	switch {
	case !exists:
		return fmt.Errorf("the port %s of the pod is missing in Open vSwitch", linkName(c))
	case i.Error != "":
		return fmt.Errorf("port %s: open vswitch reports: %s", linkName(c), i.Error)
	case i.ExternalIDs[idSandbox] != c.ContainerID:
		return fmt.Errorf("the port %s belongs to sandbox %q", linkName(c), i.ExternalIDs[idSandbox])
	}
	for _, ip := range added.IPs {
		if a, ok := netaddr.FromIPNet(&ip.Address); ok {
			if err := errors.Join(d.podLink(c, a.Masked(), a.Addr()).Check(), d.checkFlows(ctx, a.Addr(), i.Port)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFlows compares the flows that have the address or the port of a pod with the desired ones.
func (d *daemon) checkFlows(ctx context.Context, address netip.Addr, port int) error {
	want, result, err := d.compute(d.snapshot())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(want.Input.Pods, func(p flows.Pod) bool { return p.Address == address && p.Port == uint32(port) }) {
		return fmt.Errorf("the pod with address %s has no flows; see /readyz of the agent for the reason", address)
	}
	differences, err := d.keeper.Bridge.Differences(ctx, result.Flows)
	if err != nil {
		return fmt.Errorf("compare the flows of bridge %s: %w", agentconfig.Bridge, err)
	}
	if own := flowsOf(differences, address, port); len(own) > 0 {
		return fmt.Errorf("%d flows of bridge %s for the pod with address %s differ from the desired ones, such as: %s", len(own), agentconfig.Bridge, address, own[0])
	}
	return nil
}

// flowsOf returns the flows that have the address or the port of a pod.
func flowsOf(all []string, address netip.Addr, port int) []string {
	pattern := regexp.MustCompile(fmt.Sprintf(`[=:]%s([ ,/-]|$)|in_port=%d([ ,]|$)|output:%d([ ,)]|$)`, regexp.QuoteMeta(address.String()), port, port))
	return slices.DeleteFunc(slices.Clone(all), func(flow string) bool { return !pattern.MatchString(flow) })
}

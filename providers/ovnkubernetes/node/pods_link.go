package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// linkPrefix begins the names of the nodes' ends of pods' links.
const linkPrefix = "ovnp"

// linkName names the node's end of an attachment's link; the kernel admits 15 characters.
func linkName(c cniserver.Call) string {
	sum := sha256.Sum256([]byte(c.ContainerID + "/" + c.IfName))
	return linkPrefix + hex.EncodeToString(sum[:5])
}

// link is a pod's link.
type link struct {
	// name is the node's end, pod the path of the pod's network namespace, podName the interface in it.
	name, pod, podName string
	mtu                int
	given              topology.Pod
	place              place
	userspace          bool
}

// create creates the link with the pod's addresses and routes, and returns the hardware address of the node's end.
func (l link) create() (net.HardwareAddr, error) {
	inside, err := netns.GetFromPath(l.pod)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeUnknownContainer, "open the pod's network namespace %s: %v", l.pod, err)
	}
	defer inside.Close()
	outside, err := l.place.handle()
	if err != nil {
		return nil, err
	}
	defer outside.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = l.name, l.mtu
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: l.podName, PeerNamespace: netlink.NsFd(inside), PeerHardwareAddr: l.given.MAC, PeerMTU: uint32(l.mtu)}
	if err := outside.LinkAdd(pair); err != nil {
		return nil, fmt.Errorf("add the pod's link: %w", err)
	}
	near, err := outside.LinkByName(l.name)
	if err != nil {
		return nil, fmt.Errorf("read the pod's link: %w", err)
	}
	if err := outside.LinkSetUp(near); err != nil {
		return nil, fmt.Errorf("set the node's end of the pod's link up: %w", err)
	}
	if err := ns.WithNetNSPath(l.pod, func(ns.NetNS) error { return l.configurePod() }); err != nil {
		return nil, fmt.Errorf("configure the pod's interface: %w", err)
	}
	return near.Attrs().HardwareAddr, nil
}

// configurePod is called in the pod's namespace.
func (l link) configurePod() error {
	far, err := netlink.LinkByName(l.podName)
	if err != nil {
		return err
	}
	var errs []error
	if l.userspace {
		errs = append(errs, ovs.DisableTxOffload(l.podName))
	}
	for _, a := range l.given.Addresses {
		if a.Addr().Is6() {
			errs = append(errs, sysctl.Set("/proc/sys", "net/ipv6/conf/"+l.podName+"/disable_ipv6", "0"))
		}
	}
	errs = append(errs, netlink.LinkSetUp(far))
	for i, a := range l.given.Addresses {
		errs = append(errs,
			netlink.AddrReplace(far, &netlink.Addr{IPNet: netaddr.IPNet(a), Flags: noDAD(a)}),
			netlink.RouteReplace(&netlink.Route{LinkIndex: far.Attrs().Index, Gw: l.given.Gateways[i].AsSlice(), Dst: everything(a)}),
		)
	}
	return errors.Join(errs...)
}

// everything is the default destination of an address's family.
func everything(a netip.Prefix) *net.IPNet {
	if a.Addr().Is4() {
		return netaddr.IPNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	}
	return netaddr.IPNet(netip.PrefixFrom(netip.IPv6Unspecified(), 0))
}

// podAddresses returns the addresses of the interface of a pod.
func podAddresses(c cniserver.Call) (out []netip.Prefix, err error) {
	err = ns.WithNetNSPath(c.NetNS, func(ns.NetNS) error {
		far, err := netlink.LinkByName(c.IfName)
		if err != nil {
			return fmt.Errorf("interface %s of the pod: %w", c.IfName, err)
		}
		addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(far, netlink.FAMILY_ALL) })
		for i := range addresses {
			if p, ok := netaddr.FromIPNet(addresses[i].IPNet); ok {
				out = append(out, p)
			}
		}
		return err
	})
	return out, err
}

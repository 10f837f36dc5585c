// Package plugin implements the CNI plugin egress-router: it configures the interface, address, routes and rules that package egressrouter computes in a
// pod. It only changes the pod's network namespace, and creates a macvlan on an interface of the node.
package plugin

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// Plugin carries out the commands of CNI.
type Plugin struct {
	// Log receives a line for each step if the log_level of the configuration is debug.
	Log io.Writer
}

// Run carries out the CNI command of the environment and standard input, and prints the result. After an error, it exits.
func (p Plugin) Run() {
	versions := version.PluginSupports(cniproto.SupportedVersions()...)
	skel.PluginMainFuncs(skel.CNIFuncs{Add: p.add, Check: p.check, Del: p.del, GC: nothing, Status: nothing}, versions, "CNI plugin "+egressrouter.Type)
}

// nothing implements GC and STATUS: all objects of ADD end with the pod's network namespace, and the plugin is always ready.
func nothing(*skel.CmdArgs) error { return nil }

// attachment is an interface of a pod.
type attachment struct {
	conf egressrouter.Conf
	// link is the name of the interface in the pod.
	link string
	log  *slog.Logger
}

func (p Plugin) open(args *skel.CmdArgs) (*attachment, ns.NetNS, error) {
	conf, errs := egressrouter.Parse(args.StdinData)
	if len(errs) > 0 {
		messages := make([]string, 0, len(errs))
		for _, err := range errs {
			messages = append(messages, err.Error())
		}
		return nil, nil, types.NewError(types.ErrInvalidNetworkConfig, strings.Join(messages, "; "), "")
	}
	if args.IfName == egressrouter.ClientInterface {
		return nil, nil, types.NewError(types.ErrInvalidNetworkConfig, "an egress router needs a further interface; it cannot be the pod's "+args.IfName, "")
	}
	a := &attachment{conf: conf, link: args.IfName, log: slog.New(slog.DiscardHandler)}
	if conf.Debug && p.Log != nil {
		a.log = slog.New(slog.NewTextHandler(p.Log, &slog.HandlerOptions{Level: slog.LevelDebug})).With("network", conf.Name, "interface", args.IfName, "container", args.ContainerID)
	}
	pod, err := ns.GetNS(args.Netns)
	if err != nil {
		return nil, nil, types.NewError(types.ErrInvalidNetNS, fmt.Sprintf("open the pod's network namespace: %v", err), "")
	}
	return a, pod, nil
}

func (p Plugin) add(args *skel.CmdArgs) error {
	a, pod, err := p.open(args)
	if err != nil {
		return err
	}
	defer func() { _ = pod.Close() }()
	master, err := a.master()
	if err != nil {
		return err
	}
	if err := pod.Do(func(ns.NetNS) error { return a.checkUnused() }); err != nil {
		return err
	}
	temporary, err := a.create(master, pod)
	if err != nil {
		return err
	}
	var link netlink.Link
	err = pod.Do(func(ns.NetNS) error {
		made, err := a.setUp(temporary, master.Attrs().Name)
		if err != nil {
			return withSecondError(err, remove(a.conf.Family(), temporary, a.link))
		}
		link = made
		return nil
	})
	if err != nil {
		return err
	}
	asked, err := (&version.ConfigDecoder{}).Decode(args.StdinData)
	if err != nil {
		return err
	}
	return types.PrintResult(a.result(link, args.Netns), asked)
}

// withSecondError adds a second error to an error, and keeps the code of the first.
func withSecondError(err, second error) error {
	var coded *types.Error
	if second == nil || !errors.As(err, &coded) {
		return errors.Join(err, second)
	}
	return types.NewError(coded.Code, coded.Msg, errors.Join(errors.New(coded.Details), second).Error())
}

func (a *attachment) result(link netlink.Link, sandbox string) *current.Result {
	address := *ipNet(a.conf.Address)
	gateway := net.IP(a.conf.Gateway.AsSlice())
	return &current.Result{
		CNIVersion: current.ImplementedSpecVersion,
		Interfaces: []*current.Interface{{Name: a.link, Mac: link.Attrs().HardwareAddr.String(), Mtu: link.Attrs().MTU, Sandbox: sandbox}},
		IPs:        []*current.IPConfig{{Interface: current.Int(0), Address: address, Gateway: gateway}},
		Routes:     []*types.Route{{Dst: *defaultPrefix(a.conf.Family()), GW: gateway}},
	}
}

// del removes the objects of ADD. If the pod's network namespace no longer exists, there are none.
func (p Plugin) del(args *skel.CmdArgs) error {
	if args.Netns == "" {
		return nil
	}
	pod, err := ns.GetNS(args.Netns)
	var gone ns.NSPathNotExistErr
	var other ns.NSPathNotNSErr
	switch {
	case errors.As(err, &gone), errors.As(err, &other):
		return nil
	case err != nil:
		return fmt.Errorf("open the pod's network namespace: %w", err)
	}
	defer func() { _ = pod.Close() }()
	// DEL accepts a configuration that ADD refused.
	conf, _ := egressrouter.Parse(args.StdinData)
	return pod.Do(func(ns.NetNS) error {
		family, ok := familyOf(args.IfName)
		if !ok {
			if !conf.Address.IsValid() {
				return nil
			}
			family = conf.Family()
			// The table may be that of another attachment of this family.
			if holder, err := holderOf(family); err != nil || holder != "" {
				return err
			}
		}
		return remove(family, args.IfName)
	})
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// defaultPrefix returns the prefix of all addresses of a family.
func defaultPrefix(f egressrouter.Family) *net.IPNet {
	if f == egressrouter.IPv4 {
		return ipNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	}
	return ipNet(netip.PrefixFrom(netip.IPv6Unspecified(), 0))
}

func number(f egressrouter.Family) int {
	if f == egressrouter.IPv4 {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

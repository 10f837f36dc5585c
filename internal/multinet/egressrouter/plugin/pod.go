package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/addressconflict"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// sysctlRoot has the settings of the network namespace of the thread that reads them.
const sysctlRoot = "/proc/sys"

// The number and interval of probes for a gateway and of announcements of an address. Machines on a link answer within milliseconds; the repetitions
// are for lost frames.
const (
	probes, probeInterval           = 4, 500 * time.Millisecond
	announcements, announceInterval = 3, 100 * time.Millisecond
)

// setUp configures the attachment, in the pod's network namespace. It writes the rules before the interface is up, and enables forwarding last.
func (a *attachment) setUp(temporary, master string) (netlink.Link, error) {
	link, err := netlink.LinkByName(temporary)
	if err != nil {
		return nil, fmt.Errorf("find the new interface: %w", err)
	}
	if err := netlink.LinkSetName(link, a.link); err != nil {
		return nil, fmt.Errorf("name the interface %s: %w", a.link, err)
	}
	if err := netlink.LinkSetAlias(link, aliasPrefix+string(a.conf.Family())); err != nil {
		return nil, fmt.Errorf("set the alias of interface %s: %w", a.link, err)
	}
	if err := applyTable(egressrouter.Rules(&a.conf, a.link)); err != nil {
		return nil, err
	}
	if err := set(egressrouter.LinkSettings(a.conf.Family(), a.link)); err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("set interface %s up: %w", a.link, err)
	}
	if link, err = netlink.LinkByName(a.link); err != nil {
		return nil, fmt.Errorf("read interface %s: %w", a.link, err)
	}
	if err := a.takeAddress(link, master); err != nil {
		return nil, err
	}
	if err := a.route(link); err != nil {
		return nil, err
	}
	if err := set(egressrouter.PodSettings(a.conf.Family())); err != nil {
		return nil, err
	}
	return link, a.announce(link)
}

func set(settings []egressrouter.Setting) error {
	for _, s := range settings {
		if err := sysctl.Set(sysctlRoot, s.Name, s.Value); err != nil {
			return err
		}
	}
	return nil
}

// takeAddress sets the address of the interface unless another machine has it, and probes the gateway if it is needed.
func (a *attachment) takeAddress(link netlink.Link, master string) error {
	address := a.conf.Address.Addr()
	listener, err := addressconflict.Listen(link, address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if holder, found, err := listener.Holder(); err != nil || found {
		return cmp.Or(err, failed(egressrouter.Taken(address, "the machine with MAC address "+holder.String())))
	}
	a.log.Debug("no machine answers for the address", "address", address)
	wanted := &netlink.Addr{IPNet: ipNet(a.conf.Address)}
	if address.Is6() {
		// The kernel would repeat duplicate address detection.
		wanted.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrReplace(link, wanted); err != nil {
		return fmt.Errorf("give interface %s the address %s: %w", a.link, a.conf.Address, err)
	}
	if !a.conf.NeedsGateway() {
		return nil
	}
	gateway, err := addressconflict.Listen(link, a.conf.Gateway)
	if err != nil {
		return err
	}
	defer gateway.Close()
	_, found, err := gateway.Probe(address, probes, probeInterval, probeInterval)
	if err == nil && !found {
		return failed(egressrouter.NoGateway(a.conf.Gateway, master))
	}
	return err
}

// announce announces the address to the other machines and switches of the network.
func (a *attachment) announce(link netlink.Link) error {
	listener, err := addressconflict.Listen(link, a.conf.Address.Addr())
	if err != nil {
		return err
	}
	defer listener.Close()
	for i := range announcements {
		if i > 0 {
			time.Sleep(announceInterval)
		}
		if err := listener.Announce(); err != nil {
			return err
		}
	}
	a.log.Debug("announced the address", "address", a.conf.Address.Addr(), "mac", link.Attrs().HardwareAddr)
	return nil
}

// remove removes an attachment, complete or not, in the pod's network namespace. It disables forwarding first, so that no packet is forwarded without
// rules. names are the possible names of the interface.
func remove(f egressrouter.Family, names ...string) error {
	errs := []error{set(egressrouter.Undo(f))}
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			continue
		}
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if err != nil && !errors.Is(err, unix.ENODEV) {
			errs = append(errs, fmt.Errorf("remove interface %s: %w", name, err))
		}
	}
	return errors.Join(append(errs, removeRoutes(f), removeTable(egressrouter.TableOf(f)))...)
}

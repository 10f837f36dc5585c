package ovs

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// Place is the network namespace of Open vSwitch, which has the node's ends of links. The zero value is the network namespace of the node.
type Place struct {
	// Path is the path of the network namespace.
	Path string
}

// Handle returns a netlink socket in the namespace.
func (p Place) Handle() (*netlink.Handle, error) {
	if p.Path == "" {
		return netlink.NewHandle()
	}
	at, err := netns.GetFromPath(p.Path)
	if err != nil {
		return nil, fmt.Errorf("open the network namespace of Open vSwitch: %w", err)
	}
	defer at.Close()
	return netlink.NewHandleAt(at)
}

// Links returns the names of the interfaces of the namespace.
func (p Place) Links() (map[string]bool, error) {
	h, err := p.Handle()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	all, err := netlinkdump.All(h.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list interfaces of Open vSwitch: %w", err)
	}
	out := map[string]bool{}
	for _, l := range all {
		out[l.Attrs().Name] = true
	}
	return out, nil
}

// Remove removes an interface. A missing interface or namespace is no error.
func (p Place) Remove(name string) error {
	h, err := p.Handle()
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	link, err := h.LinkByName(name)
	if LinkMissing(err) {
		return nil
	}
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) { // it may be removed with the pod's namespace at any time
		return fmt.Errorf("remove interface %s: %w", name, err)
	}
	return nil
}

// LinkMissing reports whether an error means that an interface does not exist.
func LinkMissing(err error) bool {
	_, missing := errors.AsType[netlink.LinkNotFoundError](err)
	return missing
}

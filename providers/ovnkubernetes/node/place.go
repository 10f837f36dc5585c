package node

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// place is where the nodes' ends of links are: the network namespace of Open vSwitch, by its path; empty is that of the node.
type place struct{ path string }

// handle returns a netlink socket in the namespace.
func (p place) handle() (*netlink.Handle, error) {
	if p.path == "" {
		return netlink.NewHandle()
	}
	at, err := netns.GetFromPath(p.path)
	if err != nil {
		return nil, fmt.Errorf("open the network namespace of Open vSwitch: %w", err)
	}
	defer at.Close()
	return netlink.NewHandleAt(at)
}

// links returns the names of the interfaces of the namespace.
func (p place) links() (map[string]bool, error) {
	h, err := p.handle()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	all, err := h.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces of Open vSwitch: %w", err)
	}
	out := map[string]bool{}
	for _, l := range all {
		out[l.Attrs().Name] = true
	}
	return out, nil
}

// remove removes an interface. One that does not exist is no error, and neither is a namespace that does not exist.
func (p place) remove(name string) error {
	h, err := p.handle()
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer h.Close()
	link, err := h.LinkByName(name)
	if missing(err) {
		return nil
	}
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) { // it may go with the pod's namespace at any moment
		return fmt.Errorf("remove interface %s: %w", name, err)
	}
	return nil
}

func missing(err error) bool {
	_, is := errors.AsType[netlink.LinkNotFoundError](err)
	return is
}

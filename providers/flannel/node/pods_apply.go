package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/podmtu"
)

// applyPodMTU sets the MTUs of the bridge, of the pods on it and of their routes. mtu is that of interfaces, routable that of routes, 0 for the same. Pods are
// found by the bridge's ends of their links and the network namespaces in a directory; other namespaces are not changed. It continues after errors and joins
// them. A missing bridge has no pods.
func applyPodMTU(bridge, namespaces string, mtu, routable int) error {
	br, err := netlink.LinkByName(bridge)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", bridge, err)
	}
	ports, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	handles, err := openNamespaces(namespaces)
	if err != nil {
		return err
	}
	defer func() {
		for _, h := range handles {
			h.Close()
		}
	}()
	node, err := netlink.NewHandle()
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer node.Close()
	applyBridge := func() error {
		if br.Attrs().MTU == mtu {
			return nil
		}
		if err := netlink.LinkSetMTU(br, mtu); err != nil {
			return fmt.Errorf("set MTU of %s to %d: %w", bridge, mtu, err)
		}
		return nil
	}
	applyPods := func() error {
		var errs []error
		for _, port := range ports {
			if a := port.Attrs(); a.MasterIndex == br.Attrs().Index && a.NetNsID >= 0 {
				errs = append(errs, applyPod(node, port, handles, mtu, routable))
			}
		}
		return errors.Join(errs...)
	}
	// Order: the bridge sends long packets only while all pods accept them.
	if br.Attrs().MTU > mtu {
		return errors.Join(applyBridge(), applyPods())
	}
	return errors.Join(applyPods(), applyBridge())
}

// openNamespaces opens all network namespaces in a directory, by their IDs in the current namespace.
func openNamespaces(directory string) (map[int]netns.NsHandle, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("look for the namespaces of pods: %w", err)
	}
	handles := map[int]netns.NsHandle{}
	for _, e := range entries {
		h, err := netns.GetFromPath(filepath.Join(directory, e.Name()))
		if err != nil {
			continue // it was deleted, or is not a network namespace
		}
		id, err := netlink.GetNetNsIdByFd(int(h))
		if _, twice := handles[id]; err != nil || id < 0 || twice {
			h.Close()
			continue
		}
		handles[id] = h
	}
	return handles, nil
}

// applyPod sets the MTU of both ends of a pod's link, and of the pod's routes.
func applyPod(node *netlink.Handle, port netlink.Link, handles map[int]netns.NsHandle, mtu, routable int) error {
	a := port.Attrs()
	ns, found := handles[a.NetNsID]
	if !found {
		return fmt.Errorf("the pod behind %s has no namespace that is known here: its MTU cannot be changed; restart it", a.Name)
	}
	pod, err := netlink.NewHandleAt(ns)
	if err != nil {
		return fmt.Errorf("enter the namespace of the pod behind %s: %w", a.Name, err)
	}
	defer pod.Close()
	end, err := pod.LinkByIndex(a.ParentIndex)
	if err != nil {
		return fmt.Errorf("find the interface of the pod behind %s: %w", a.Name, err)
	}
	if err := (podmtu.Link{Outside: node, Inside: pod, Near: port, Far: end}).Set(mtu, routable); err != nil {
		return fmt.Errorf("pod behind %s: %w", a.Name, err)
	}
	return nil
}

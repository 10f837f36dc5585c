package node

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
)

const (
	// macvlanAnnotation requests an interface on a link of the node: "true" for the link of the default route, any other value for the link with that name.
	macvlanAnnotation = "pod.network.openshift.io/assign-macvlan"
	// macvlanName is the name of the interface in the pod.
	macvlanName = "macvlan0"
)

// requests are a pod's requests in annotations.
type requests struct {
	limits bandwidth.Limits
	// macvlan is the value of the annotation; empty without a request.
	macvlan string
}

// requested reads the annotations of a pod. The error has all invalid values.
func requested(pod *corev1.Pod) (requests, error) {
	limits, err := bandwidth.Read(pod.Annotations)
	errs := []error{err}
	link, set := pod.Annotations[macvlanAnnotation]
	switch {
	case !set || link == "false":
		link = ""
	case link == "":
		errs = append(errs, fmt.Errorf(`annotation %s is empty; write "true" or the name of a link of the node`, macvlanAnnotation))
	case !privileged(pod):
		errs = append(errs, fmt.Errorf("annotation %s is %q, and the pod has no privileged container: only those get an interface on a link of the node; remove the annotation, or set securityContext.privileged", macvlanAnnotation, link))
	}
	if err := errors.Join(errs...); err != nil {
		return requests{}, err
	}
	return requests{limits, link}, nil
}

// privileged reports whether a container of a pod is privileged.
func privileged(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	})
}

// addMacvlan creates the requested interface in the pod, without an address: software in the pod configures it. The kernel removes it with the pod.
func (r requests) addMacvlan(pod string) error {
	if r.macvlan == "" {
		return nil
	}
	parent, err := macvlanParent(r.macvlan)
	if err != nil {
		return fmt.Errorf("annotation %s is %q: %w", macvlanAnnotation, r.macvlan, err)
	}
	inside, err := netns.GetFromPath(pod)
	if err != nil {
		return fmt.Errorf("open the pod's network namespace %s: %w", pod, err)
	}
	defer inside.Close()
	handle, err := netlink.NewHandleAt(inside)
	if err != nil {
		return fmt.Errorf("enter the pod's network namespace %s: %w", pod, err)
	}
	defer handle.Close()
	if _, err := handle.LinkByName(macvlanName); err == nil {
		return nil // left by an interrupted ADD
	} else if !ovs.LinkMissing(err) {
		return fmt.Errorf("read the interfaces of the pod: %w", err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.ParentIndex, attributes.MTU, attributes.Namespace = macvlanName, parent.Attrs().Index, parent.Attrs().MTU, netlink.NsFd(inside)
	if err := netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: attributes, Mode: netlink.MACVLAN_MODE_PRIVATE}); err != nil {
		return fmt.Errorf("add interface %s on link %s to the pod: %w", macvlanName, parent.Attrs().Name, err)
	}
	return nil
}

// macvlanParent returns the link of the node.
func macvlanParent(value string) (netlink.Link, error) {
	if value != "true" {
		link, err := netlink.LinkByName(value)
		if ovs.LinkMissing(err) {
			return nil, errors.New(`the node has no such link; write the name of one, or "true" for that of the default route`)
		}
		return link, err
	}
	routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return nil, fmt.Errorf("read the routes of the node: %w", err)
	}
	var best *netlink.Route
	for i, r := range routes {
		everything := r.Dst == nil || r.Dst.IP.IsUnspecified()
		if ones := 0; r.Dst != nil {
			ones, _ = r.Dst.Mask.Size()
			everything = everything && ones == 0
		}
		if everything && r.LinkIndex > 0 && (best == nil || r.Priority < best.Priority) {
			best = &routes[i]
		}
	}
	if best == nil {
		return nil, errors.New("the node has no default route; write the name of a link")
	}
	return netlink.LinkByIndex(best.LinkIndex)
}

package egressrouter

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// kindInfrastructure is the kind that has the virtual addresses of a cluster on OpenShift.
var kindInfrastructure = schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}

// usedAddress is an address that is in use; text is the end of a sentence that names its holder.
type usedAddress struct {
	address netip.Addr
	text    string
}

// addressInUse returns the conflicts of the router's addresses with addresses in use; nil if there are none.
func (c *Controller) addressInUse(ctx context.Context, r *networkv1.EgressRouter) (*cause, error) {
	if c.Nodes == nil {
		return nil, nil
	}
	usedAddresses, err := c.usedAddresses(ctx)
	if err != nil {
		return nil, err
	}
	var routers networkv1.EgressRouterList
	if err := c.client.List(ctx, &routers); err != nil {
		return nil, fmt.Errorf("list egress routers: %w", err)
	}
	return conflict(r, usedAddresses, routers.Items), nil
}

// usedAddresses returns the addresses of the nodes and, on OpenShift, the virtual addresses of the cluster.
func (c *Controller) usedAddresses(ctx context.Context) ([]usedAddress, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var all []usedAddress
	add := func(text, who string) {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, usedAddress{a.Unmap(), who})
		}
	}
	for _, n := range nodes {
		for _, a := range n.Status.Addresses {
			add(a.Address, "is the address of node "+n.Name)
		}
	}
	served, err := c.Serves(kindInfrastructure)
	if err != nil {
		return nil, fmt.Errorf("check whether %s is available: %w", kindInfrastructure.Kind, err)
	}
	if !served {
		return all, nil
	}
	var infra configv1.Infrastructure
	if err := c.client.Get(ctx, client.ObjectKey{Name: "cluster"}, &infra); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read infrastructure: %w", err)
	}
	for _, vip := range virtualAddresses(infra.Status.PlatformStatus) {
		add(vip, "is a virtual address of the cluster (infrastructures.config.openshift.io/cluster)")
	}
	return all, nil
}

// virtualAddresses returns the virtual addresses of API server and ingress, which move between nodes.
func virtualAddresses(p *configv1.PlatformStatus) []string {
	switch {
	case p == nil:
	case p.BareMetal != nil:
		return slices.Concat(p.BareMetal.APIServerInternalIPs, p.BareMetal.IngressIPs)
	case p.VSphere != nil:
		return slices.Concat(p.VSphere.APIServerInternalIPs, p.VSphere.IngressIPs)
	case p.OpenStack != nil:
		return slices.Concat(p.OpenStack.APIServerInternalIPs, p.OpenStack.IngressIPs)
	case p.Nutanix != nil:
		return slices.Concat(p.Nutanix.APIServerInternalIPs, p.Nutanix.IngressIPs)
	case p.Ovirt != nil:
		return slices.Concat(p.Ovirt.APIServerInternalIPs, p.Ovirt.IngressIPs)
	}
	return nil
}

// conflict compares the addresses of a router with those in use and with those of older routers.
func conflict(r *networkv1.EgressRouter, usedAddresses []usedAddress, routers []networkv1.EgressRouter) *cause {
	var found []string
	for i, a := range r.Spec.Addresses {
		prefix, err := parseCIDR(a.IP)
		if err != nil {
			continue
		}
		add := func(why string) {
			found = append(found, fmt.Sprintf("spec.addresses[%d].ip: %s %s; choose an address that no other machine has", i, prefix.Addr(), why))
		}
		for _, h := range usedAddresses {
			if h.address == prefix.Addr() {
				add(h.text)
			}
		}
		for j := range routers {
			if o := &routers[j]; older(o, r) && sameLink(o, r) && slices.Contains(addressesOf(o), prefix.Addr()) {
				add(fmt.Sprintf("is the address of the older EgressRouter %s/%s", o.Namespace, o.Name))
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &cause{reasonAddressInUse, strings.Join(found, "\n")}
}

// addressesOf returns the valid addresses of a router.
func addressesOf(r *networkv1.EgressRouter) (all []netip.Addr) {
	for _, a := range r.Spec.Addresses {
		if prefix, err := parseCIDR(a.IP); err == nil {
			all = append(all, prefix.Addr())
		}
	}
	return all
}

// older reports whether a was created before b. Of two that were created in the same second, the first by name is older.
func older(a, b *networkv1.EgressRouter) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// sameLink reports whether two routers can be on the same link. Without a master it is the link of the default route, which may have any
// name.
func sameLink(a, b *networkv1.EgressRouter) bool {
	m, n := a.Spec.NetworkInterface.Macvlan.Master, b.Spec.NetworkInterface.Macvlan.Master
	return m == n || m == "" || n == ""
}

// sharingAddress returns requests for the other routers that want an address of the changed or deleted router, because their conditions may
// change.
func (c *Controller) sharingAddress(ctx context.Context, changed client.Object) []reconcile.Request {
	r, ok := changed.(*networkv1.EgressRouter)
	var routers networkv1.EgressRouterList
	if !ok {
		return nil
	}
	if err := c.client.List(ctx, &routers); err != nil {
		c.Log.Warn("list egress routers that share an address", "error", err)
		return nil
	}
	var requests []reconcile.Request
	wanted := addressesOf(r)
	for i := range routers.Items {
		o := &routers.Items[i]
		key := client.ObjectKeyFromObject(o)
		shared := slices.ContainsFunc(addressesOf(o), func(a netip.Addr) bool { return slices.Contains(wanted, a) })
		if shared && key != client.ObjectKeyFromObject(r) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// NodeLister lists the nodes of the cluster. Callers must not modify them.
type NodeLister func(context.Context) ([]*corev1.Node, error)

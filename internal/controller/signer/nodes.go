package signer

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ChassisAnnotation holds the name of a node in Open vSwitch, by which OVN's IPsec knows it.
const ChassisAnnotation = "k8s.ovn.org/node-chassis-id"

// indexIdentity is the index of cached nodes by what identifies them beside their name.
const indexIdentity = "signer.identity"

// uuid is what a name in Open vSwitch must look like, so that it cannot be the name of another node.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// indexNodes makes the index. It is kept up by the cache, without a request.
func indexNodes(indexer client.FieldIndexer) error {
	err := indexer.IndexField(context.Background(), &corev1.Node{}, indexIdentity, func(o client.Object) []string {
		node, ok := o.(*corev1.Node)
		if !ok {
			return nil
		}
		names, addresses := identities(node)
		for _, a := range addresses {
			names = append(names, a.String())
		}
		return names
	})
	if err != nil {
		return fmt.Errorf("index nodes: %w", err)
	}
	return nil
}

// identities returns what a node says that it is beside its name.
func identities(node *corev1.Node) (names []string, addresses []netip.Addr) {
	for _, a := range node.Status.Addresses {
		switch a.Type {
		case corev1.NodeInternalIP:
			if address, err := netip.ParseAddr(a.Address); err == nil {
				addresses = append(addresses, address.Unmap())
			}
		case corev1.NodeHostName, corev1.NodeInternalDNS:
			if _, err := netip.ParseAddr(a.Address); err != nil && a.Address != node.Name && isNodeName(a.Address) {
				names = append(names, a.Address)
			}
		}
	}
	if id := node.Annotations[ChassisAnnotation]; uuid.MatchString(id) {
		names = append(names, id)
	}
	return names, addresses
}

// readNode returns what is known of the node that a user is. What a node says of itself counts only as far as no other node
// says the same: kubelets write their own addresses.
func readNode(ctx context.Context, from, cached client.Reader, username string) (Node, error) {
	name, ok := NodeOf(username)
	if !ok {
		return Node{}, nil
	}
	var node corev1.Node
	err := from.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return Node{}, nil
	}
	if err != nil {
		return Node{}, fmt.Errorf("read node %s: %w", name, err)
	}
	out := Node{Name: name}
	names, addresses := identities(&node)
	for _, n := range names {
		contested, err := claimed(ctx, cached, name, n)
		if err != nil {
			return Node{}, err
		}
		if contested {
			out.Contested = append(out.Contested, n)
		} else {
			out.Names = append(out.Names, n)
		}
	}
	for _, a := range addresses {
		contested, err := claimed(ctx, cached, name, a.String())
		if err != nil {
			return Node{}, err
		}
		if contested {
			out.Contested = append(out.Contested, a.String())
		} else {
			out.Addresses = append(out.Addresses, a)
		}
	}
	return out, nil
}

// claimed reports whether another node is called so, or says that it is.
func claimed(ctx context.Context, cached client.Reader, node, identity string) (bool, error) {
	if isNodeName(identity) {
		err := cached.Get(ctx, client.ObjectKey{Name: identity}, &corev1.Node{})
		if err == nil {
			return true, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("read node %s: %w", identity, err)
		}
	}
	var same corev1.NodeList
	if err := cached.List(ctx, &same, client.MatchingFields{indexIdentity: identity}); err != nil {
		return false, fmt.Errorf("look for node %s: %w", identity, err)
	}
	for i := range same.Items {
		if same.Items[i].Name != node {
			return true, nil
		}
	}
	return false, nil
}

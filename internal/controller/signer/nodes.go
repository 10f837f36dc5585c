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

// ChassisAnnotation holds the name of a node in Open vSwitch, which OVN's IPsec uses.
const ChassisAnnotation = "k8s.ovn.org/node-chassis-id"

// indexIdentity is the index of cached nodes by their identities other than their name.
const indexIdentity = "signer.identity"

// uuid matches names in Open vSwitch; such a name cannot be the name of another node.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// indexNodes adds the index.
func indexNodes(indexer client.FieldIndexer) error {
	err := indexer.IndexField(context.Background(), &corev1.Node{}, indexIdentity, func(o client.Object) []string {
		node, ok := o.(*corev1.Node)
		if !ok {
			return nil
		}
		return identityStrings(node)
	})
	if err != nil {
		return fmt.Errorf("index nodes: %w", err)
	}
	return nil
}

// identityStrings returns the identities of a node as strings.
func identityStrings(node *corev1.Node) []string {
	all, addresses := identities(node)
	for _, a := range addresses {
		all = append(all, a.String())
	}
	return all
}

// identities returns the identities in the status and annotations of a node, without its name.
func identities(node *corev1.Node) (names []string, addresses []netip.Addr) {
	for _, a := range node.Status.Addresses {
		switch a.Type {
		case corev1.NodeInternalIP:
			if address, err := netip.ParseAddr(a.Address); err == nil {
				addresses = append(addresses, address.Unmap())
			}
		case corev1.NodeHostName, corev1.NodeInternalDNS:
			if _, err := netip.ParseAddr(a.Address); err != nil && a.Address != node.Name && isNodeName(a.Address) && !isServiceName(a.Address) {
				names = append(names, a.Address)
			}
		}
	}
	if id := node.Annotations[ChassisAnnotation]; uuid.MatchString(id) {
		names = append(names, id)
	}
	return names, addresses
}

// readNode reads a node. An identity counts if no other node claims it, or this node had it first, because kubelets write their own
// addresses. holder returns the node that had an identity first.
func readNode(ctx context.Context, from, cached client.Reader, holder func(string) string, name string) (Node, error) {
	var node corev1.Node
	err := from.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return Node{}, nil
	}
	if err != nil {
		return Node{}, fmt.Errorf("read node %s: %w", name, err)
	}
	out := Node{Name: name, Contested: map[string]string{}}
	// own reports whether an identity is the node's.
	own := func(identity string) (bool, error) {
		contested, err := findClaim(ctx, cached, name, identity)
		first := holder(identity)
		if err != nil || !contested.claimed || first == name && !contested.name {
			return err == nil, err
		}
		if contested.name {
			first = identity
		}
		out.Contested[identity] = first
		return false, nil
	}
	names, addresses := identities(&node)
	for _, n := range names {
		if ok, err := own(n); err != nil {
			return Node{}, err
		} else if ok {
			out.Names = append(out.Names, n)
		}
	}
	for _, a := range addresses {
		if ok, err := own(a.String()); err != nil {
			return Node{}, err
		} else if ok {
			out.Addresses = append(out.Addresses, a)
		}
	}
	return out, nil
}

// claim is the claim of other nodes to an identity.
type claim struct {
	claimed bool
	// name is true if the identity is the name of another node, which that node cannot choose.
	name bool
}

// findClaim reports whether another node has or claims an identity.
func findClaim(ctx context.Context, cached client.Reader, node, identity string) (claim, error) {
	if isNodeName(identity) {
		err := cached.Get(ctx, client.ObjectKey{Name: identity}, &corev1.Node{})
		if err == nil {
			return claim{claimed: true, name: true}, nil
		}
		if !apierrors.IsNotFound(err) {
			return claim{}, fmt.Errorf("read node %s: %w", identity, err)
		}
	}
	var same corev1.NodeList
	if err := cached.List(ctx, &same, client.MatchingFields{indexIdentity: identity}); err != nil {
		return claim{}, fmt.Errorf("list nodes with identity %s: %w", identity, err)
	}
	for i := range same.Items {
		if same.Items[i].Name != node {
			return claim{claimed: true}, nil
		}
	}
	return claim{}, nil
}

package clusterstatus

import (
	"context"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/status"
)

// nodeList caches the relevant state of all nodes. It is read again only after a relevant change, not for each pod that starts.
type nodeList struct {
	dirty atomic.Bool
	all   []status.Node
	gone  map[string]bool
	// addresses are the internal addresses of each node.
	addresses map[string][]string
}

// read updates the list if it is dirty.
func (l *nodeList) read(ctx context.Context, nodes func(context.Context) ([]*corev1.Node, error)) error {
	if !l.dirty.Swap(false) {
		return nil
	}
	list, err := nodes(ctx)
	if err != nil {
		l.dirty.Store(true)
		return err
	}
	all := make([]status.Node, 0, len(list))
	gone, addresses := map[string]bool{}, map[string][]string{}
	for _, known := range list {
		n := status.OfNode(known)
		all = append(all, n)
		addresses[n.Name] = status.NodeAddresses(known)
		if n.Unreachable {
			gone[n.Name] = true
		}
	}
	l.all, l.gone, l.addresses = slices.Clip(all), gone, addresses
	return nil
}

// changed passes relevant changes, and marks the list as dirty.
func (l *nodeList) changed() predicate.Predicate {
	note := func() bool {
		l.dirty.Store(true)
		return true
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return note() },
		DeleteFunc: func(event.DeleteEvent) bool { return note() },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Node)
			after, okAfter := e.ObjectNew.(*corev1.Node)
			return (!ok || !okAfter || status.OfNode(before) != status.OfNode(after) || !slices.Equal(status.NodeAddresses(before), status.NodeAddresses(after))) && note()
		},
	}
}

package ipsec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Peers returns all nodes except self with their tunnel endpoints, in the IP family of the node's own one, sorted by name. It omits a node without one. If
// two nodes have the same address it omits both, since the address determines the keys, and returns an error.
func Peers(nodes []*corev1.Node, self string, own netip.Addr) ([]Peer, error) {
	claims := map[netip.Addr][]string{own: {self}}
	for _, n := range nodes {
		if at := topology.TunnelAddress(n, own.Is6()); n.Name != self && at.IsValid() {
			claims[at] = append(claims[at], n.Name)
		}
	}
	var out []Peer
	var errs []error
	for at, names := range claims {
		switch {
		case len(names) > 1:
			slices.Sort(names)
			errs = append(errs, fmt.Errorf("nodes %s have the same address %s, and are not encrypted to; correct .status.addresses of the wrong one", strings.Join(names, ", "), at))
		case at != own:
			out = append(out, Peer{Name: names[0], Address: at})
		}
	}
	slices.SortFunc(out, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out, errors.Join(errs...)
}

// nodes are the watched Nodes.
type nodes struct {
	store      cache.Store
	controller cache.Controller
	failure    atomic.Pointer[error]
}

func newNodes(client kubernetes.Interface, changed func()) *nodes {
	n := &nodes{}
	inner := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", "", fields.Everything())
	n.store, n.controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				list, err := inner.ListWithContextFunc(ctx, options)
				n.failure.Store(&err)
				return list, err
			},
			WatchFuncWithContext: inner.WatchFuncWithContext,
		},
		ObjectType: &corev1.Node{}, Transform: onlyAddresses,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, DeleteFunc: func(any) { changed() },
			UpdateFunc: func(before, after any) {
				if !slices.Equal(before.(*corev1.Node).Status.Addresses, after.(*corev1.Node).Status.Addresses) { //nolint:forcetypeassert // the informer has no other objects
					changed()
				}
			},
		},
	})
	return n
}

// onlyAddresses removes the fields that the agent does not use.
func onlyAddresses(object any) (any, error) {
	if n, ok := object.(*corev1.Node); ok {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}, Status: corev1.NodeStatus{Addresses: n.Status.Addresses},
		}, nil
	}
	return object, nil
}

// list returns all Nodes; ok is false until the API server has responded.
func (n *nodes) list() (out []*corev1.Node, ok bool) {
	if !n.controller.HasSynced() {
		return nil, false
	}
	for _, o := range n.store.List() {
		if node, ok := o.(*corev1.Node); ok {
			out = append(out, node)
		}
	}
	return out, true
}

// problem returns the last error of the API server.
func (n *nodes) problem() error {
	if err := n.failure.Load(); err != nil && *err != nil {
		return fmt.Errorf("read nodes from the Kubernetes API: %w", *err)
	}
	return nil
}

// peersFile is the file with the last peers of the API server, for an agent that starts while it is unavailable.
type peersFile string

func (f peersFile) read() ([]Peer, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved peers: %w", err)
	}
	var out []Peer
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, nil //nolint:nilerr // it is written again when the API server responds
	}
	return out, nil
}

func (f peersFile) write(peers []Peer) error {
	text, err := json.Marshal(peers)
	if err != nil {
		return fmt.Errorf("encode peers: %w", err)
	}
	if _, err := durable.WriteIfChanged(string(f), text, 0o600); err != nil {
		return fmt.Errorf("save peers: %w", err)
	}
	return nil
}

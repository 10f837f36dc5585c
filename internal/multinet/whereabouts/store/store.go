// Package store stores the addresses of ranges in the API objects of whereabouts: IPPool, OverlappingRangeIPReservation and NodeSlicePool. Writers use
// optimistic concurrency: a write names the resource version of the pool, and is decided again after a conflict. Requests of this process that wait for
// the same pool share a write.
//
// If ranges overlap, the reservation of an address is created before the pool is written, and deleted before the address is removed from the pool. A
// process that ends between the two leaves a reservation or an allocation, which a repeated DEL or the operator's controller removes; no address is
// assigned twice.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// GroupVersion is the API group and version of whereabouts.
var GroupVersion = schema.GroupVersion{Group: whereabouts.Group, Version: "v1alpha1"}

// The kinds of whereabouts.
var (
	KindPool        = GroupVersion.WithKind("IPPool")
	KindReservation = GroupVersion.WithKind("OverlappingRangeIPReservation")
	KindSlicePool   = GroupVersion.WithKind("NodeSlicePool")
)

const (
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
	// pingTimeout is the same for Ping.
	pingTimeout = 2 * time.Second
	// defaultRetryTimeout is how long a request is retried while the API server is unreachable.
	defaultRetryTimeout = 20 * time.Second
	// maxBatch is the maximum number of requests that share a write.
	maxBatch = 256
	// maxConcurrentReservations is the maximum number of reservations that are written at once.
	maxConcurrentReservations = 16
)

// Store assigns and releases addresses. It is safe for concurrent use.
type Store struct {
	client    client.Client
	namespace string
	log       *slog.Logger
	// RetryTimeout is how long a request is retried while the API server is unreachable; 0 means 20 s.
	RetryTimeout time.Duration

	mu     sync.Mutex
	queues map[whereabouts.Pool]*queue
}

// New returns a store of the objects in a namespace. The client reads without a cache.
func New(c client.Client, namespace string, log *slog.Logger) *Store {
	return &Store{client: c, namespace: namespace, log: log, queues: map[whereabouts.Pool]*queue{}}
}

// Assign assigns an address of a pool to the owner of a request. An outcome without an address is no error: no address is free, or the requested one is
// not. If overlapping is true, no other pool of the same network name has the address. If the context ends, the address is released. After an error of
// type *Unavailable, the request can be repeated.
func (s *Store) Assign(ctx context.Context, pool whereabouts.Pool, overlapping bool, r whereabouts.Request) (whereabouts.Outcome, error) {
	o := &operation{request: r, overlapping: overlapping}
	err := s.run(ctx, pool, o)
	return o.outcome, err
}

// Release selects the addresses of an interface of a sandbox to remove from a pool.
type Release struct {
	ContainerID, IfName string
	// Address is the address to remove; not valid for all.
	Address netip.Addr
	// Claims is true to also remove addresses that an IPAMClaim keeps.
	Claims bool
}

// Release removes addresses from a pool. A missing address or pool is no error.
func (s *Store) Release(ctx context.Context, pool whereabouts.Pool, overlapping bool, r Release) error {
	return s.run(ctx, pool, &operation{release: &r, overlapping: overlapping})
}

// Allocations returns the content of a pool, by offset; it is empty if the pool does not exist.
func (s *Store) Allocations(ctx context.Context, pool whereabouts.Pool) (map[string]whereabouts.Allocation, error) {
	p, err := s.readPool(ctx, pool)
	return p.allocations, AsUnavailable(err)
}

// Ping returns an error while pools cannot be read.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(GroupVersion.WithKind(KindPool.Kind + "List"))
	return AsUnavailable(s.client.List(ctx, list, client.InNamespace(s.namespace), client.Limit(1)))
}

// Slice returns the slice of a node from the NodeSlicePool of a name; ok is false if the node has none yet.
func (s *Store) Slice(ctx context.Context, name, node string) (slice netip.Prefix, ok bool, err error) {
	u, err := s.get(ctx, KindSlicePool, name)
	if isNotFound(err) {
		return netip.Prefix{}, false, nil
	}
	if err != nil {
		return netip.Prefix{}, false, AsUnavailable(fmt.Errorf("read NodeSlicePool %s: %w", name, err))
	}
	_, slices, err := ReadSlices(u)
	if err != nil {
		return netip.Prefix{}, false, err
	}
	for _, each := range slices {
		if each.Node != node {
			continue
		}
		if slice, err = netip.ParsePrefix(each.Range); err != nil {
			return slice, false, fmt.Errorf("NodeSlicePool %s: slice of node %s: %w", name, node, err)
		}
		return slice.Masked(), true, nil
	}
	return netip.Prefix{}, false, nil
}

// ReadSlices reads a NodeSlicePool: its spec, and the slices of nodes.
func ReadSlices(u *unstructured.Unstructured) (spec SliceSpec, slices []whereabouts.Slice, err error) {
	var read struct {
		Spec   SliceSpec `json:"spec"`
		Status struct {
			Allocations []whereabouts.Slice `json:"allocations"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &read); err != nil {
		return spec, nil, fmt.Errorf("decode NodeSlicePool %s: %w", u.GetName(), err)
	}
	return read.Spec, read.Status.Allocations, nil
}

// SliceSpec is the spec of a NodeSlicePool.
type SliceSpec struct {
	Range     string `json:"range"`
	SliceSize string `json:"sliceSize"`
}

// newObject returns an empty object of a kind.
func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (s *Store) get(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	u := newObject(kind, s.namespace, name)
	return u, s.client.Get(ctx, client.ObjectKeyFromObject(u), u)
}

// Package store keeps the addresses of ranges in the API objects of whereabouts: IPPool, OverlappingRangeIPReservation and
// NodeSlicePool. Writers of a pool do not wait for one another: each write names the version of the pool that it is based on, and is
// decided again if there is a newer one. Requests of this process that wait for the same pool share a write.
//
// If ranges overlap, the reservation of an address, whose name is the address, is created before the pool is written, and deleted before
// the address is removed from the pool. A process that ends between the two leaves a reservation or an allocation, which a repeated
// DEL or the operator's controller removes; no address is ever assigned twice.
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

// GroupVersion is that of all kinds of whereabouts.
var GroupVersion = schema.GroupVersion{Group: "whereabouts.cni.cncf.io", Version: "v1alpha1"}

// The kinds of whereabouts.
var (
	KindPool        = GroupVersion.WithKind("IPPool")
	KindReservation = GroupVersion.WithKind("OverlappingRangeIPReservation")
	KindSlicePool   = GroupVersion.WithKind("NodeSlicePool")
)

const (
	// callLimit is how long one request to the API server may take.
	callLimit = 10 * time.Second
	// pingLimit is the same for the question whether the API server answers.
	pingLimit = 2 * time.Second
	// defaultPatience is how long a request is repeated while the API server does not answer.
	defaultPatience = 20 * time.Second
	// mostTogether is how many requests share a write.
	mostTogether = 256
	// reserveAtOnce is how many reservations are written at once.
	reserveAtOnce = 16
)

// Store assigns and releases addresses. It may be used by many callers at once.
type Store struct {
	client    client.Client
	namespace string
	log       *slog.Logger
	// Patience is how long a request is repeated while the API server does not answer; 20 s if it is 0.
	Patience time.Duration

	mu     sync.Mutex
	queues map[whereabouts.Pool]*queue
}

// New returns a store of the objects in a namespace. The client reads without a cache.
func New(c client.Client, namespace string, log *slog.Logger) *Store {
	return &Store{client: c, namespace: namespace, log: log, queues: map[whereabouts.Pool]*queue{}}
}

// Assign gives the owner of a request an address of a pool. An outcome without an address is no error: no address is free, or the
// requested one is not. If overlapping is true, no other pool of the same network name has the address. What was assigned for a
// caller whose context has ended is released. An error of type *Unavailable passes by repeating the request.
func (s *Store) Assign(ctx context.Context, pool whereabouts.Pool, overlapping bool, r whereabouts.Request) (whereabouts.Outcome, error) {
	o := &operation{request: r, overlapping: overlapping}
	err := s.run(ctx, pool, o)
	return o.outcome, err
}

// Release describes what is removed from a pool: what an interface of a sandbox has.
type Release struct {
	ContainerID, IfName string
	// Address is the only address that is removed; not valid for all.
	Address netip.Addr
	// Claims is true if addresses that an IPAMClaim keeps are removed as well.
	Claims bool
}

// Release removes addresses from a pool. What is missing is no error, the pool included.
func (s *Store) Release(ctx context.Context, pool whereabouts.Pool, overlapping bool, r Release) error {
	return s.run(ctx, pool, &operation{release: &r, overlapping: overlapping})
}

// Allocations returns the content of a pool, by offset; it is empty if the pool does not exist.
func (s *Store) Allocations(ctx context.Context, pool whereabouts.Pool) (map[string]whereabouts.Allocation, error) {
	p, err := s.readPool(ctx, pool)
	return p.allocations, Passing(err)
}

// Ping returns an error while pools cannot be read.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(GroupVersion.WithKind(KindPool.Kind + "List"))
	return Passing(s.client.List(ctx, list, client.InNamespace(s.namespace), client.Limit(1)))
}

// Slice returns the part of a range that a node has, from the NodeSlicePool of a name; ok is false if it has none yet.
func (s *Store) Slice(ctx context.Context, name, node string) (slice netip.Prefix, ok bool, err error) {
	u, err := s.get(ctx, KindSlicePool, name)
	if missing(err) {
		return netip.Prefix{}, false, nil
	}
	if err != nil {
		return netip.Prefix{}, false, Passing(fmt.Errorf("read NodeSlicePool %s: %w", name, err))
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

// ReadSlices reads a NodeSlicePool: the range and the prefix length of slices as they are written, and who has which.
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

// SliceSpec is the specification of a NodeSlicePool.
type SliceSpec struct {
	Range     string `json:"range"`
	SliceSize string `json:"sliceSize"`
}

// newObject is an empty object of a kind.
func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (s *Store) get(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	u := newObject(kind, s.namespace, name)
	return u, s.client.Get(ctx, client.ObjectKeyFromObject(u), u)
}

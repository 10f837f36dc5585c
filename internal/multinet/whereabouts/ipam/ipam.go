// Package ipam serves the CNI requests of the IPAM plugin whereabouts on a node: it assigns addresses of shared ranges to interfaces, and releases them.
// Package whereabouts parses the configuration and selects addresses; package store accesses the API objects.
//
// Errors that a later attempt can resolve have the CNI code 11, "try again later": the API server is unreachable, no address is free, or the requested
// address is in use. The runtime then repeats the ADD.
package ipam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Reasons of events.
const (
	// ReasonExhausted: no address of a range is free.
	ReasonExhausted = "AddressesExhausted"
	// ReasonInUse: the requested address belongs to another interface.
	ReasonInUse = "AddressInUse"
	// ReasonClaim: the IPAMClaim does not exist.
	ReasonClaim = "IPAMClaimMissing"
	// ReasonSlice: the node has no slice of the range.
	ReasonSlice = "NodeSliceMissing"
)

// releaseTimeout bounds the release of the addresses of a failed ADD.
const releaseTimeout = 10 * time.Second

// Options of a handler. All except Event must be set.
type Options struct {
	// Client reads without a cache, and writes.
	Client client.Client
	// Namespace is the namespace of the pools, which is that of Multus.
	Namespace string
	// Node is the name of this node.
	Node string
	Log  *slog.Logger
	// Event reports why a pod waits for an address, for errors with code 11, for which package cniserver records no event. It may be nil.
	Event func(pod cniserver.Pod, reason, message string)
}

// Handler implements cniserver.Handler.
type Handler struct {
	Options
	store *store.Store
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{Options: o, store: store.New(o.Client, o.Namespace, o.Log)}
}

// Add assigns an address of each range. If one fails, the others are released.
func (h *Handler) Add(ctx context.Context, call cniserver.Call) (*current.Result, error) {
	c, errs := whereabouts.Parse(string(call.Config))
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	owner := h.owner(call)
	kept, err := h.claim(ctx, c, call, &owner)
	if err != nil {
		return nil, h.failure(call, err)
	}
	var got []assigned
	for _, r := range c.Ranges {
		a, err := h.assign(ctx, c, r, owner, kept)
		if err != nil {
			h.releaseAssigned(ctx, c, owner, got)
			return nil, h.failure(call, err)
		}
		got = append(got, a)
	}
	if err := h.publish(ctx, c, owner, kept, got); err != nil {
		h.releaseAssigned(ctx, c, owner, got)
		return nil, h.failure(call, err)
	}
	return result(c, got), nil
}

// owner returns the owner of the addresses that a call requests.
func (h *Handler) owner(call cniserver.Call) whereabouts.Allocation {
	pod := call.Pod()
	return whereabouts.Allocation{
		ContainerID: call.ContainerID, IfName: call.IfName, PodRef: pod.Namespace + "/" + pod.Name, PodUID: pod.UID, Node: h.Node,
	}
}

// assigned is an address of a range.
type assigned struct {
	whereabouts.Range
	address netip.Addr
	// fresh is true if the interface did not have it before.
	fresh bool
}

// refusal is an error with an event.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

// assign assigns an address of a range.
func (h *Handler) assign(ctx context.Context, c *whereabouts.Config, r whereabouts.Range, owner whereabouts.Allocation, kept *claim) (assigned, error) {
	part, err := h.assignable(ctx, c, r)
	if err != nil {
		return assigned{}, err
	}
	request := whereabouts.Request{Range: part, Owner: owner}
	for _, a := range slices.Concat(c.Requested, kept.addresses()) {
		if r.Assignable(a) {
			request.Address = a
		}
	}
	if request.Address.IsValid() && !part.Assignable(request.Address) {
		return assigned{}, &refusal{ReasonInUse, fmt.Sprintf("the requested address %s is in the slice of another node; this node has %s", request.Address, part)}
	}
	outcome, err := h.store.Assign(ctx, c.Pool(r, h.Node), c.Overlapping, request)
	switch {
	case err != nil:
		return assigned{}, err
	case outcome.Address.IsValid():
		return assigned{r, outcome.Address, outcome.New}, nil
	case request.Address.IsValid() && outcome.Other.PodRef != "":
		return assigned{}, &refusal{ReasonInUse, fmt.Sprintf("the requested address %s is in use by %s; the pod starts when that pod is deleted", request.Address, holder(outcome.Other, owner))}
	case request.Address.IsValid():
		return assigned{}, &refusal{ReasonInUse, fmt.Sprintf("the requested address %s is in use in a range that overlaps %s", request.Address, r)}
	}
	return assigned{}, &refusal{ReasonExhausted, fmt.Sprintf("the %d addresses of the range %s are in use; the pod starts when one is released. Delete pods that need none, or extend the range", part.Size(), part)}
}

// holder describes the owner of an address for the user of a pod. It does not reveal pods of other namespaces.
func holder(other, asks whereabouts.Allocation) string {
	namespace, _, _ := strings.Cut(asks.PodRef, "/")
	if !strings.HasPrefix(other.PodRef, namespace+"/") {
		return "a pod of another namespace"
	}
	return fmt.Sprintf("interface %s of pod %s", other.IfName, other.PodRef)
}

// assignable returns the part of a range that this node may assign: all, or the node's slice.
func (h *Handler) assignable(ctx context.Context, c *whereabouts.Config, r whereabouts.Range) (whereabouts.Range, error) {
	if !c.Sliced {
		return r, nil
	}
	name := c.SlicePool(r)
	slice, ok, err := h.store.Slice(ctx, name, h.Node)
	if err != nil {
		return r, err
	}
	if !ok {
		return r, &refusal{ReasonSlice, fmt.Sprintf("node %s has no slice of the range %s yet: the operator assigns one in NodeSlicePool %s/%s, if there is one left", h.Node, r, h.Namespace, name)}
	}
	part, ok := r.Within(slice)
	if !ok {
		return r, &refusal{ReasonSlice, fmt.Sprintf("the slice %s of node %s is outside of the range %s: NodeSlicePool %s/%s belongs to another network; set network_name", slice, h.Node, r, h.Namespace, name)}
	}
	return part, nil
}

// releaseAssigned releases the addresses of a failed ADD. The following DEL repeats a release that fails.
func (h *Handler) releaseAssigned(ctx context.Context, c *whereabouts.Config, owner whereabouts.Allocation, got []assigned) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for _, a := range got {
		if !a.fresh {
			continue
		}
		r := store.Release{ContainerID: owner.ContainerID, IfName: owner.IfName, Address: a.address, Claims: true}
		if err := h.store.Release(ctx, c.Pool(a.Range, h.Node), c.Overlapping, r); err != nil {
			h.Log.Warn("an address of an ADD that failed is not released; the DEL that follows repeats it", "address", a.address, "pod", owner.PodRef, "error", err)
		}
	}
}

// result returns the CNI result.
func result(c *whereabouts.Config, got []assigned) *current.Result {
	out := &current.Result{CNIVersion: current.ImplementedSpecVersion, DNS: c.DNS, Routes: c.Routes}
	add := func(p netip.Prefix, gateway netip.Addr) {
		ip := &current.IPConfig{Address: *netaddr.IPNet(p)}
		if gateway.IsValid() && gateway.Is4() == p.Addr().Is4() {
			ip.Gateway = gateway.AsSlice()
		}
		out.IPs = append(out.IPs, ip)
	}
	for _, a := range got {
		add(netip.PrefixFrom(a.address, a.Network.Bits()), c.Gateway)
	}
	for _, s := range c.Static {
		add(s.Address, s.Gateway)
	}
	return out
}

// Check compares the pools with what Add returned.
func (h *Handler) Check(ctx context.Context, call cniserver.Call, added *current.Result) error {
	c, errs := whereabouts.Parse(string(call.Config))
	if len(errs) > 0 {
		return invalid(errs)
	}
	owner := h.owner(call)
	for _, r := range c.Ranges {
		pool := c.Pool(r, h.Node)
		allocations, err := h.store.Allocations(ctx, pool)
		if err != nil {
			return h.failure(call, err)
		}
		if !slices.ContainsFunc(added.IPs, func(ip *current.IPConfig) bool {
			p, ok := netaddr.FromIPNet(&ip.Address)
			return ok && r.Network.Contains(p.Addr()) && owner.Owns(allocations[r.Offset(p.Addr())])
		}) {
			return cniproto.Errorf(cniproto.CodeUnknownContainer, "interface %s of container %s does not have its address of %s in IPPool %s/%s", call.IfName, call.ContainerID, r, h.Namespace, pool.Name())
		}
	}
	return nil
}

// Del releases the addresses of an interface, except those that an IPAMClaim keeps. It also searches the pools of an invalid configuration, which an
// earlier version may have accepted.
func (h *Handler) Del(ctx context.Context, call cniserver.Call) error {
	c, _ := whereabouts.Parse(string(call.Config))
	var errs []error
	for _, pool := range c.Pools(h.Node) {
		err := h.store.Release(ctx, pool, c.Overlapping, store.Release{ContainerID: call.ContainerID, IfName: call.IfName})
		if err != nil {
			errs = append(errs, fmt.Errorf("release addresses of IPPool %s: %w", pool.Name(), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return h.failure(call, err)
	}
	return nil
}

// Status returns an error while the API server is unreachable or the CRDs are missing.
func (h *Handler) Status(ctx context.Context) error { return h.store.Ping(ctx) }

// invalid returns the error of an invalid configuration.
func invalid(errs field.ErrorList) error {
	const most = 16
	var sentences []string
	for _, e := range errs {
		sentences = append(sentences, e.Error())
	}
	return cniproto.Errorf(cniproto.CodeInvalidConfig, "%s", phrase.Clauses(sentences, most))
}

// failure returns an error with its CNI code, and reports a refusal as an event.
func (h *Handler) failure(call cniserver.Call, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		if h.Event != nil {
			h.Event(call.Pod(), r.reason, r.message)
		}
		return cniproto.Errorf(cniproto.CodeTryAgain, "%s", r.message)
	}
	if _, ok := errors.AsType[*store.Unavailable](err); ok || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
	}
	return err
}

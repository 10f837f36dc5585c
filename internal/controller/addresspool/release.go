package addresspool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

func splitRef(ref string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(ref, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

// release releases candidates, pool by pool. A failure does not prevent other releases.
func (c *Controller) release(ctx context.Context, w *observation, due []candidate) error {
	byPool := map[string][]candidate{}
	var errs []error
	for _, each := range due {
		if each.pool != "" {
			byPool[each.pool] = append(byPool[each.pool], each)
		}
	}
	for _, p := range w.pools {
		if candidates := byPool[p.name]; len(candidates) > 0 {
			errs = append(errs, c.releasePool(ctx, p, candidates))
		}
	}
	for _, each := range due {
		if each.pool == "" {
			errs = append(errs, ignoreConflict(c.releaseReservation(ctx, each)))
		}
	}
	return errors.Join(errs...)
}

// ignoreConflict drops conflict errors; the next reconcile retries.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// releasePool releases addresses of one pool. It retries a few times if agents write the pool concurrently.
func (c *Controller) releasePool(ctx context.Context, p pool, candidates []candidate) error {
	for range maxConflicts {
		if err := c.tryRelease(ctx, p, candidates); !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// maxConflicts is the maximum number of tries to write a pool.
const maxConflicts = 5

// tryRelease releases addresses of one pool with one write of the version that was read before the pods.
func (c *Controller) tryRelease(ctx context.Context, p pool, candidates []candidate) error {
	live, err := c.get(ctx, store.KindPool, p.name)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	allocations, err := store.ReadPool(live)
	if err != nil {
		return err
	}
	changes, r := store.Change{}, whereabouts.Usable(p.Network)
	released := map[reason][]string{}
	var errs []error
	for _, each := range candidates {
		if now, ok := allocations[each.offset]; !ok || now != each.owner {
			continue
		}
		why, err := c.confirm(ctx, each.owner)
		if err != nil || why == notReleased {
			errs = append(errs, err)
			continue
		}
		address, ok := r.Address(each.offset)
		if ok {
			if err := c.unreserve(ctx, whereabouts.ReservationName(p.NetworkName, address), each.owner); err != nil {
				errs = append(errs, ignoreConflict(err))
				continue
			}
		}
		changes[each.offset] = nil
		released[why] = append(released[why], fmt.Sprintf("%s of pod %s", addressText(address, ok, each.offset), each.owner.PodRef))
	}
	if len(changes) > 0 {
		if err := store.WritePool(ctx, c.client, c.Namespace, p.Pool, live.GetResourceVersion(), changes); err != nil {
			return fmt.Errorf("release addresses of IPPool %s: %w", p.name, err)
		}
	}
	for why, what := range released {
		c.recordReleased(live, why, what)
	}
	return errors.Join(errs...)
}

func addressText(address netip.Addr, ok bool, offset string) string {
	if ok {
		return address.String()
	}
	return "offset " + offset
}

// unreserve deletes the reservation of an address if the owner has it.
func (c *Controller) unreserve(ctx context.Context, name string, owner whereabouts.Allocation) error {
	u, err := c.get(ctx, store.KindReservation, name)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if !owner.Owns(store.ReadReservation(u)) {
		return nil
	}
	return store.DeleteReservation(ctx, c.client, u)
}

// releaseReservation deletes a reservation without an address in a pool.
func (c *Controller) releaseReservation(ctx context.Context, each candidate) error {
	u, err := c.get(ctx, store.KindReservation, each.reservation)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if u.GetUID() != each.uid || store.ReadReservation(u) != each.owner {
		return nil
	}
	why := each.reason
	if why != orphaned {
		if why, err = c.confirm(ctx, each.owner); err != nil || why == notReleased {
			return err
		}
	}
	if err := store.DeleteReservation(ctx, c.client, u); err != nil {
		return err
	}
	c.recordReleased(u, why, []string{"the reservation of pod " + each.owner.PodRef})
	return nil
}

func (c *Controller) get(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, c.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, u)
}

// confirm checks with the API server whether an owner no longer needs its address.
func (c *Controller) confirm(ctx context.Context, owner whereabouts.Allocation) (reason, error) {
	if err := c.limit.wait(ctx); err != nil {
		return notReleased, err
	}
	now := &observation{pods: map[string]types.UID{}, ended: map[types.UID]bool{}, nodes: map[string]bool{}, claims: map[string]types.UID{}}
	namespace, name, ok := splitRef(owner.PodRef)
	if !ok {
		return notReleased, nil
	}
	pod := &corev1.Pod{}
	switch err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); {
	case err == nil:
		now.pods[owner.PodRef] = pod.UID
		now.ended[pod.UID] = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	case !apierrors.IsNotFound(err):
		return notReleased, fmt.Errorf("read pod %s: %w", owner.PodRef, err)
	}
	if owner.Node != "" {
		uid, err := c.uidOf(ctx, corev1.SchemeGroupVersion.WithKind("Node"), "", owner.Node)
		if err != nil {
			return notReleased, err
		}
		now.nodes[owner.Node] = uid != ""
	}
	if namespace, name, ok := splitRef(owner.Claim); ok {
		uid, err := c.uidOf(ctx, kindClaim, namespace, name)
		if err != nil {
			return notReleased, err
		}
		if uid != "" {
			now.claims[owner.Claim] = uid
		}
	}
	return now.releaseReason(owner), nil
}

// uidOf returns the UID of an object; empty if it does not exist.
func (c *Controller) uidOf(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (types.UID, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s %s: %w", kind.Kind, name, err)
	}
	return o.UID, nil
}

// recordReleased records a metric, a log line and an event for addresses that were released for one reason.
func (c *Controller) recordReleased(u *unstructured.Unstructured, why reason, what []string) {
	slices.Sort(what)
	c.Metrics.released(len(what))
	c.Log.Info("released addresses", "kind", u.GetKind(), "name", u.GetName(), "reason", string(why), "addresses", what)
	c.event(u, corev1.EventTypeNormal, "AddressReleased", "Release", fmt.Sprintf("released, because %s: %s", why, status.Sentence(what, "")))
}

// event sends an event about an object.
func (c *Controller) event(about *unstructured.Unstructured, kind, reason, verb, note string) {
	c.Events.Eventf(about, nil, kind, reason, eventaction.Of(verb, note), "%s", phrase.Note(note))
}

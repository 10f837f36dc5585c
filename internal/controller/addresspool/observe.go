package addresspool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
)

var (
	kindDefinition = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}
	kindClaim      = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1alpha1", Kind: "IPAMClaim"}
)

// pageSize is the maximum number of objects per list request.
const pageSize = 500

// pool is an IPPool.
type pool struct {
	whereabouts.Pool
	name        string
	allocations map[string]whereabouts.Allocation
}

// reservation is an OverlappingRangeIPReservation.
type reservation struct {
	name  string
	uid   types.UID
	owner whereabouts.Allocation
}

// observation is the input of a reconcile. Pods, nodes and claims may be older than pools; missing ones are read again before a release.
type observation struct {
	pools        []pool
	reservations []reservation
	// pods are the UIDs of owners of addresses by namespace/name; ended contains the UIDs of those that have ended.
	pods  map[string]types.UID
	ended map[types.UID]bool
	// claims are the UIDs of IPAMClaims by namespace/name; nil if the kind is not available.
	claims map[string]types.UID
	nodes  map[string]bool
	// networks are the NetworkAttachmentDefinitions that use whereabouts.
	networks []network
}

// observe reads the pools first, so that owners in them are older than the lists of pods.
func (c *Controller) observe(ctx context.Context) (*observation, error) {
	w := &observation{pods: map[string]types.UID{}, ended: map[types.UID]bool{}, nodes: map[string]bool{}}
	if err := c.observeAddresses(ctx, w); err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	for _, p := range w.pools {
		for _, a := range p.allocations {
			owners[a.PodRef] = true
		}
	}
	for _, r := range w.reservations {
		owners[r.owner.PodRef] = true
	}
	if err := c.observePods(ctx, w, owners); err != nil {
		return nil, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes {
		w.nodes[n.Name] = true
	}
	return w, c.observeDefinitions(ctx, w)
}

func (c *Controller) observeAddresses(ctx context.Context, w *observation) error {
	var errs []error
	err := c.each(ctx, unstructuredList(store.KindPool), func(o client.Object) {
		u, _ := o.(*unstructured.Unstructured)
		text, _, _ := unstructured.NestedString(u.Object, "spec", "range")
		network, err := netip.ParsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("IPPool %s: range %q: %w", u.GetName(), text, err))
			return
		}
		p := pool{name: u.GetName()}
		if p.allocations, err = store.ReadPool(u); err != nil {
			errs = append(errs, err)
			return
		}
		var ok bool
		if p.Pool, ok = whereabouts.PoolOf(u.GetName(), network); !ok {
			errs = append(errs, fmt.Errorf("IPPool %s has another name than pools of the range %s", u.GetName(), network))
			return
		}
		w.pools = append(w.pools, p)
	}, client.InNamespace(c.Namespace), client.Limit(pageSize/10))
	if err != nil {
		return fmt.Errorf("list IPPools: %w", err)
	}
	err = c.each(ctx, unstructuredList(store.KindReservation), func(o client.Object) {
		u, _ := o.(*unstructured.Unstructured)
		w.reservations = append(w.reservations, reservation{name: u.GetName(), uid: u.GetUID(), owner: store.ReadReservation(u)})
	}, client.InNamespace(c.Namespace), client.Limit(pageSize))
	if err != nil {
		return fmt.Errorf("list reservations: %w", err)
	}
	// Reservations of an unreadable pool must not count as orphaned.
	return errors.Join(errs...)
}

func unstructuredList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// metadataList returns a list of metadata, which saves most of the size of pods.
func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// observePods reads the metadata of all pods in pages, and keeps those of owners.
func (c *Controller) observePods(ctx context.Context, w *observation, owners map[string]bool) error {
	if len(owners) == 0 {
		return nil
	}
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	err := c.each(ctx, metadataList(pods), func(o client.Object) {
		if ref := o.GetNamespace() + "/" + o.GetName(); owners[ref] {
			w.pods[ref] = o.GetUID()
		}
	}, client.Limit(pageSize))
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		err := c.each(ctx, metadataList(pods), func(o client.Object) { w.ended[o.GetUID()] = true },
			client.Limit(pageSize), client.MatchingFields{"status.phase": string(phase)})
		if err != nil {
			return fmt.Errorf("list pods that are %s: %w", phase, err)
		}
	}
	err = c.each(ctx, metadataList(kindClaim), func(o client.Object) {
		if w.claims == nil {
			w.claims = map[string]types.UID{}
		}
		w.claims[o.GetNamespace()+"/"+o.GetName()] = o.GetUID()
	}, client.Limit(pageSize))
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("list IPAMClaims: %w", err)
	}
	if w.claims == nil {
		w.claims = map[string]types.UID{}
	}
	return nil
}

// each calls a function for every object of a paged list. An expired continue token is an error, after which the reconcile is retried.
func (c *Controller) each(ctx context.Context, list client.ObjectList, visit func(client.Object), options ...client.ListOption) error {
	token := ""
	for {
		page, _ := list.DeepCopyObject().(client.ObjectList)
		if err := c.client.List(ctx, page, append(options, client.Continue(token))...); err != nil {
			return err
		}
		err := meta.EachListItem(page, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok {
				visit(object)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

// nodeCreated passes only creations.
func nodeCreated() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return true },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// limiter limits the rate of calls.
type limiter struct{ next time.Time }

// wait waits for the next turn.
func (l *limiter) wait(ctx context.Context) error {
	now := time.Now()
	if l.next.Before(now) {
		l.next = now
	}
	delay := l.next.Sub(now)
	l.next = l.next.Add(time.Second / readsPerSecond)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(delay):
		return nil
	}
}

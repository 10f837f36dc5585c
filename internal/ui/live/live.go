// Package live watches a cluster: it keeps objects in memory and signals changes.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/typedclient"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// The rate limits of requests: a plan reads about sixty objects at once.
const (
	requestsPerSecond = 200
	requestsAtOnce    = 400
)

// nodeOfPod is the field selector for the pods of a node.
const nodeOfPod = "spec.nodeName"

// Cluster is a watched cluster. Use Open to create one.
type Cluster struct {
	// Source is the source of pages.
	Source page.Source
	// Changed receives a value after objects have changed; several changes may be merged.
	Changed <-chan struct{}

	config  *rest.Config
	typed   *typedclient.Clients
	cache   cache.Cache
	direct  client.Client
	watched map[schema.GroupVersionKind]bool
	changed chan struct{}
}

// Open connects to a cluster and determines what the user may watch. Objects that the user may not watch are read when a page needs them. It
// returns an error if the cluster is unreachable, or if the user may not read the network.
func Open(ctx context.Context, config *rest.Config, namespace string, operands provider.Operands, now func() time.Time) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	clock := kubeconfig.NewClock(config, now)
	scheme, err := objects.Scheme()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	c := &Cluster{config: config, watched: map[schema.GroupVersionKind]bool{}, changed: make(chan struct{}, 1)}
	c.Changed = c.changed
	if c.typed, err = typedclient.New(config); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	if c.direct, err = client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	wanted, missing, err := c.permitted(ctx, watches(namespace, operands), mapper)
	if err != nil {
		return nil, err
	}
	shared := true
	if c.cache, err = cache.New(config, cache.Options{
		HTTPClient: httpClient, Mapper: mapper, Scheme: scheme, ByObject: byObject(wanted), DefaultTransform: trim, DefaultUnsafeDisableDeepCopy: &shared,
	}); err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	for _, w := range wanted {
		if err := c.watch(ctx, w); err != nil {
			return nil, err
		}
	}
	pods := &podList{list: func(ctx context.Context) ([]page.Pod, error) { return page.ListPods(ctx, c.direct) }}
	c.Source = page.Source{Objects: reader{c}, All: c.direct, Pods: pods.get, PodsOf: c.podsOf, Namespace: namespace, Now: clock.Now, Missing: missing}
	return c, nil
}

// Config returns the client configuration.
func (c *Cluster) Config() *rest.Config { return c.config }

// Run watches until the context ends. It calls ready after the initial sync.
func (c *Cluster) Run(ctx context.Context, ready func()) error {
	go func() {
		if c.cache.WaitForCacheSync(ctx) {
			ready()
			c.signal()
		}
	}()
	if err := c.cache.Start(ctx); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	return nil
}

// May reports whether the user may do something with a cluster-scoped resource.
func (c *Cluster) May(ctx context.Context, verb, group, resource string) (bool, error) {
	return c.may(ctx, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource})
}

func (c *Cluster) may(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	answer, err := c.typed.AuthorizationV1.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask the API server for the permissions of this user: %w", err)
	}
	return answer.Status.Allowed, nil
}

// permitted returns the watches that the user may have of available APIs, and sentences about the others.
func (c *Cluster) permitted(ctx context.Context, all []watch, mapper meta.RESTMapper) (wanted []watch, missing []string, err error) {
	for _, w := range all {
		gvk, err := apiutil.GVKForObject(w.object, c.direct.Scheme())
		if err != nil {
			return nil, nil, err
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reach the cluster: %w", err)
		}
		denied, err := c.denied(ctx, &w, mapping.Resource)
		if err != nil {
			return nil, nil, err
		}
		if denied && w.required {
			return nil, nil, fmt.Errorf("this user has no permission to get, list and watch %s: the pages need at least that", mapping.Resource.GroupResource())
		}
		if denied {
			missing = append(missing, fmt.Sprintf("no permission to list and watch %s: what depends on it is missing or not live", mapping.Resource.GroupResource()))
			continue
		}
		c.watched[gvk] = true
		wanted = append(wanted, w)
	}
	return wanted, missing, nil
}

// denied reports whether the user lacks the permission for a watch in all its namespaces. It drops single namespaces without permission.
func (c *Cluster) denied(ctx context.Context, w *watch, r schema.GroupVersionResource) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		what := authorizationv1.ResourceAttributes{Verb: verb, Group: r.Group, Resource: r.Resource}
		if ok, err := c.may(ctx, what); err != nil {
			return false, err
		} else if ok {
			continue
		}
		var allowed []string
		for _, ns := range w.namespaces {
			what.Namespace = ns
			ok, err := c.may(ctx, what)
			if err != nil {
				return false, err
			}
			if ok {
				allowed = append(allowed, ns)
			}
		}
		if w.namespaces = allowed; len(allowed) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// watch adds a watch to the cache.
func (c *Cluster) watch(ctx context.Context, w watch) error {
	informer, err := c.cache.GetInformer(ctx, w.object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	if _, err = informer.AddEventHandler(c.handler()); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	return nil
}

// handler signals changes of watched objects.
func (c *Cluster) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.signal() }, DeleteFunc: func(any) { c.signal() },
		UpdateFunc: func(before, after any) {
			if !renewal(before, after) {
				c.signal()
			}
		},
	}
}

// renewal reports whether an update only renews a lease that was valid: no page shows that, and it happens every two seconds.
func renewal(before, after any) bool {
	b, isLease := before.(*coordinationv1.Lease)
	a, remains := after.(*coordinationv1.Lease)
	return isLease && remains && ptr.Deref(a.Spec.HolderIdentity, "") == ptr.Deref(b.Spec.HolderIdentity, "") && status.Renewed(a).Sub(status.Renewed(b)) <= status.LeaseStale
}

func (c *Cluster) signal() {
	select {
	case c.changed <- struct{}{}:
	default: // one is pending already
	}
}

// podsOf lists the pods of a node.
func (c *Cluster) podsOf(ctx context.Context, node string) ([]corev1.Pod, error) {
	list, err := c.typed.CoreV1.Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(nodeOfPod, node).String()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// reader reads watched objects from memory, and all others from the API server.
type reader struct{ c *Cluster }

// Get reads an object.
func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := r.from(o).Get(ctx, key, o, options...)
	return unstarted(err)
}

// List reads objects. Those from memory are shared and must not be changed.
func (r reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return unstarted(r.from(list).List(ctx, list, options...))
}

func (r reader) from(o any) client.Reader {
	object, ok := o.(interface {
		client.ObjectList
	})
	var gvk schema.GroupVersionKind
	var err error
	if ok {
		gvk, err = apiutil.GVKForObject(object, r.c.direct.Scheme())
		gvk.Kind = gvk.Kind[:max(0, len(gvk.Kind)-len("List"))]
	} else if single, ok := o.(client.Object); ok {
		gvk, err = apiutil.GVKForObject(single, r.c.direct.Scheme())
	}
	if err == nil && r.c.watched[gvk] {
		return r.c.cache
	}
	return r.c.direct
}

// errStarting is the error of a page that is requested before the initial sync.
var errStarting = errors.New("the cluster is still being read; try again in a moment")

func unstarted(err error) error {
	var notStarted *cache.ErrCacheNotStarted
	if errors.As(err, &notStarted) {
		return errStarting
	}
	return err
}

// namespaces returns the namespace of the operator and those of operands.
func namespaces(own string, operands provider.Operands) []string {
	all := append(operands.Names(nil), own)
	slices.Sort(all)
	return slices.Compact(all)
}

package master

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// kind is the kind of a changed object. Changes are applied in the order of kinds: pods need the blocks of nodes.
type kind int

const (
	nodeKind kind = iota
	namespaceKind
	podKind
	serviceKind
	policyKind
	kinds
)

func (k kind) String() string {
	return [kinds]string{"node", "namespace", "pod", "service", "networkpolicy"}[k]
}

// key identifies an object; namespace is empty for nodes and namespaces.
type key struct {
	kind            kind
	namespace, name string
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

// changes are the changed objects, with the time of the first change.
type changes struct {
	mu   sync.Mutex
	keys map[key]time.Time
	wake agent.Trigger
}

func (c *changes) add(k key) {
	c.mu.Lock()
	if _, found := c.keys[k]; !found {
		c.keys[k] = time.Now()
	}
	c.mu.Unlock()
	c.wake.Fire()
}

// take returns and resets all changes.
func (c *changes) take() map[key]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.keys
	c.keys = map[key]time.Time{}
	return taken
}

// objects are the watched API objects of the cluster.
type objects struct {
	factory informers.SharedInformerFactory
	// synced report whether all objects of the initial lists have been recorded as changes.
	synced []cache.InformerSynced
	nodes, namespaces, pods, services,
	slices, policies cache.SharedIndexInformer
}

// byService is the index of EndpointSlices by Service.
const byService = "service"

// newObjects watches all objects, and records changes. Lists are consistent reads: the API server's cache could lack addresses that the previous leader has
// just assigned.
func newObjects(client kubernetes.Interface, c *changes) (*objects, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			if o.ResourceVersion == "0" {
				o.ResourceVersion = ""
			}
		}),
		informers.WithTransform(func(object any) (any, error) {
			if o, ok := object.(metav1.Object); ok {
				o.SetManagedFields(nil)
			}
			return object, nil
		}))
	o := &objects{
		factory: factory,
		nodes:   factory.Core().V1().Nodes().Informer(), namespaces: factory.Core().V1().Namespaces().Informer(),
		pods: factory.Core().V1().Pods().Informer(), services: factory.Core().V1().Services().Informer(),
		slices:   factory.Discovery().V1().EndpointSlices().Informer(),
		policies: factory.Networking().V1().NetworkPolicies().Informer(),
	}
	if err := o.slices.AddIndexers(cache.Indexers{byService: func(object any) ([]string, error) {
		slice := object.(*discoveryv1.EndpointSlice)
		return []string{slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]}, nil
	}}); err != nil {
		return nil, fmt.Errorf("index EndpointSlices: %w", err)
	}
	plain := func(of kind) func(metav1.Object) key {
		return func(o metav1.Object) key { return key{of, o.GetNamespace(), o.GetName()} }
	}
	for informer, keyOf := range map[cache.SharedIndexInformer]func(metav1.Object) key{
		o.nodes: plain(nodeKind), o.namespaces: plain(namespaceKind), o.pods: plain(podKind), o.services: plain(serviceKind), o.policies: plain(policyKind),
		o.slices: func(o metav1.Object) key {
			return key{serviceKind, o.GetNamespace(), o.GetLabels()[discoveryv1.LabelServiceName]}
		},
	} {
		record := func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if o, ok := object.(metav1.Object); ok {
				c.add(keyOf(o))
			}
		}
		// The key may change in an update: that of an EndpointSlice is its Service.
		handler := cache.ResourceEventHandlerFuncs{AddFunc: record, DeleteFunc: record, UpdateFunc: func(old, object any) { record(old); record(object) }}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, fmt.Errorf("watch objects: %w", err)
		}
		o.synced = append(o.synced, registration.HasSynced)
	}
	return o, nil
}

// start starts the watches, and returns when all objects are known and recorded: new addresses must not be allocated before the existing ones are known.
func (o *objects) start(ctx context.Context) error {
	o.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), o.synced...) {
		return fmt.Errorf("watch objects: %w", cmp.Or(ctx.Err(), context.Canceled))
	}
	return nil
}

// get returns an object; nil if it does not exist.
func get[T any](from cache.SharedIndexInformer, k key) *T {
	name := k.name
	if k.namespace != "" {
		name = k.namespace + "/" + k.name
	}
	object, exists, err := from.GetStore().GetByKey(name)
	if err != nil || !exists {
		return nil // the store returns no errors
	}
	found, _ := object.(*T)
	return found
}

// slicesOf returns the EndpointSlices of a Service.
func (o *objects) slicesOf(k key) []*discoveryv1.EndpointSlice {
	found, err := o.slices.GetIndexer().ByIndex(byService, k.namespace+"/"+k.name)
	if err != nil {
		return nil // the index exists
	}
	var out []*discoveryv1.EndpointSlice
	for _, object := range found {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			out = append(out, slice)
		}
	}
	return out
}

// order sorts changes: nodes first, then pods that already have addresses, oldest first, so that the oldest keeps a duplicate address.
func (o *objects) order(taken map[key]time.Time) []key {
	type ranked struct {
		key
		fresh bool
		pod   *corev1.Pod
	}
	list := make([]ranked, 0, len(taken))
	for k := range taken {
		r := ranked{key: k}
		if k.kind == podKind {
			r.pod = get[corev1.Pod](o.pods, k)
			r.fresh = r.pod != nil && r.pod.Annotations[podAnnotation] == ""
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b ranked) int {
		byAge := 0
		if a.pod != nil && b.pod != nil {
			byAge = cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.UID, b.pod.UID))
		}
		return cmp.Or(cmp.Compare(a.kind, b.kind), compareBool(a.pod != nil, b.pod != nil), compareBool(a.fresh, b.fresh), byAge, a.compare(b.key))
	})
	keys := make([]key, len(list))
	for i, r := range list {
		keys[i] = r.key
	}
	return keys
}

// compareBool sorts false first: deleted pods release addresses before other pods need them.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// nodeNames returns the names of all nodes.
func (o *objects) nodeNames() []string {
	names := map[string]bool{}
	for _, object := range o.nodes.GetStore().List() {
		if n, ok := object.(*corev1.Node); ok {
			names[n.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

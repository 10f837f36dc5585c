package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

var resourcePolicies = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1beta1", Resource: "multi-networkpolicies"}

const (
	// catchUpTimeout is how long to wait for a lagging watch, catchUpInterval how often it is checked.
	catchUpTimeout  = 5 * time.Second
	catchUpInterval = 10 * time.Millisecond
)

// policyObjects are the watched objects from which rules are computed.
type policyObjects struct {
	client      kubernetes.Interface
	dynamic     dynamic.Interface
	changed     func()
	custom      func() policy.Custom
	pods        cache.Store
	namespaces  cache.Store
	policies    cache.Store
	controllers []cache.Controller
	// failures are the last errors of list requests, by resource.
	failures map[string]*atomic.Pointer[error]

	mu sync.Mutex
	// stale is true if objects have changed since computed was set.
	stale    bool
	computed *views
	book     *policy.Reader
}

// views has a consistent view of the networks for policies.
type views struct {
	cluster  policy.Cluster
	custom   policy.Custom
	networks map[string]policy.View
	problems []policy.Problem
}

// peer is a pod as stored by the watch.
type peer struct {
	metav1.ObjectMeta
	// static is the kubelet's UID of a static pod.
	static string
	pod    policy.Pod
}

// newPolicyObjects returns the watches; run starts them. changed is called when rules may have changed. custom returns the administrator's rules. valid are
// the saved last valid versions of policies.
func newPolicyObjects(client kubernetes.Interface, policies dynamic.Interface, changed func(), custom func() policy.Custom, valid map[types.UID]policy.Policy) *policyObjects {
	o := &policyObjects{client: client, dynamic: policies, changed: changed, custom: custom, failures: map[string]*atomic.Pointer[error]{}, stale: true, book: policy.NewReader(valid)}
	rest := client.CoreV1().RESTClient()
	o.pods = o.watch("pods", cache.NewListWatchFromClient(rest, "pods", "", fields.Everything()), &corev1.Pod{}, toPeer)
	o.namespaces = o.watch("namespaces", cache.NewListWatchFromClient(rest, "namespaces", "", fields.Everything()), &corev1.Namespace{}, onlyLabels)
	resource := policies.Resource(resourcePolicies)
	o.policies = o.watch("policies of networks", &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options)
		},
	}, &unstructured.Unstructured{}, nil)
	return o
}

// watch adds a watch, and returns its store.
func (o *policyObjects) watch(what string, source *cache.ListWatch, kind runtime.Object, transform cache.TransformFunc) cache.Store {
	o.failures[what] = &atomic.Pointer[error]{}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: reporting(o.failures[what], source), ObjectType: kind, Transform: transform,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(a any) { o.note(a, a) }, UpdateFunc: o.note, DeleteFunc: func(a any) { o.note(a, a) },
		},
	})
	o.controllers = append(o.controllers, controller)
	return store
}

// note records a change of objects. A pod without additional networks is irrelevant.
func (o *policyObjects) note(before, after any) {
	a, isPod := before.(*peer)
	b, _ := after.(*peer)
	if isPod && b != nil && a.pod.Networks == nil && b.pod.Networks == nil {
		return
	}
	o.invalidate()
	o.changed()
}

func (o *policyObjects) invalidate() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stale = true
}

func (o *policyObjects) run(ctx context.Context) {
	var group sync.WaitGroup
	for _, c := range o.controllers {
		group.Go(func() { c.RunWithContext(ctx) })
	}
	group.Wait()
}

func (o *policyObjects) synced() bool {
	return !slices.ContainsFunc(o.controllers, func(c cache.Controller) bool { return !c.HasSynced() })
}

func (o *policyObjects) problem() error { return readFailures(o.failures) }

// toPeer removes the fields that rules do not depend on.
func toPeer(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	out := &peer{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion},
		static:     p.Annotations[annotationStatic], pod: policy.Pod{Networks: policy.Addresses(p.Annotations[wire.AnnotationStatus])},
	}
	out.pod.ID = netpolicy.ID{Namespace: p.Namespace, Name: p.Name}
	out.pod.HostNetwork = p.Spec.HostNetwork
	out.pod.Ended = p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	out.pod.Labels, out.pod.Ports = p.Labels, netpolicy.PortsOf(p)
	return out, nil
}

func onlyLabels(object any) (any, error) {
	n, ok := object.(*corev1.Namespace)
	if !ok {
		return object, nil
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, ResourceVersion: n.ResourceVersion}}, nil
}

// pod returns the pod of a sandbox, from the API server if the watch does not have it yet.
func (o *policyObjects) pod(ctx context.Context, want wire.Pod) (policy.Pod, error) {
	object, _, _ := o.pods.GetByKey(want.Namespace + "/" + want.Name)
	if p, ok := object.(*peer); ok && p.isOf(want.UID) {
		return p.pod, nil
	}
	live, err := o.client.CoreV1().Pods(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return policy.Pod{}, fmt.Errorf("read pod %s/%s: %w", want.Namespace, want.Name, err)
	}
	if !isOf(live, want.UID) {
		return policy.Pod{}, fmt.Errorf("pod %s/%s has UID %s, the sandbox is for UID %s: %w", want.Namespace, want.Name, live.UID, want.UID, errOtherPod)
	}
	read, err := toPeer(live)
	if err != nil {
		return policy.Pod{}, err
	}
	return read.(*peer).pod, nil
}

func (p *peer) isOf(uid string) bool { return uid == "" || uid == string(p.UID) || uid == p.static }

// upToDate waits until the watch has the current policies of a namespace. If the API server is unreachable, it returns immediately: the policies of the watch
// are the newest known ones.
func (o *policyObjects) upToDate(ctx context.Context, namespace string) error {
	if !o.synced() {
		return errors.New("the policies of networks are not read yet")
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	live, err := o.dynamic.Resource(resourcePolicies).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case unreachable(err):
		return nil
	case err != nil:
		return fmt.Errorf("list policies of networks: %w", err)
	}
	for _, want := range live.Items {
		for !o.has(&want) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("the watch of policies of networks is behind the Kubernetes API: %w", ctx.Err())
			case <-time.After(catchUpInterval):
			}
		}
	}
	o.invalidate()
	return nil
}

// has reports whether the watch has an object in this version or a newer one.
func (o *policyObjects) has(want *unstructured.Unstructured) bool {
	object, exists, err := o.policies.GetByKey(want.GetNamespace() + "/" + want.GetName())
	cached, ok := object.(*unstructured.Unstructured)
	if err != nil || !exists || !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), want.GetResourceVersion())
	return err == nil && order >= 0
}

// errNoPod is the error of a sandbox without a known pod: it keeps its rules.
var errNoPod = errors.New("the pod of the sandbox is not known")

// rules returns the current rules of a sandbox. attached is its pod at the time of attachment; nil if unknown. It returns errNoPod if there is no pod.
func (o *policyObjects) rules(s attach.Sandbox, attached *policy.Pod) (policy.Ruleset, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if custom := o.custom(); o.stale || o.computed == nil || !slices.Equal(custom.IPv4, o.computed.custom.IPv4) || !slices.Equal(custom.IPv6, o.computed.custom.IPv6) {
		o.computed, o.stale = o.compute(custom), false
	}
	own, ok := o.own(s, attached)
	if !ok {
		return policy.Ruleset{}, errNoPod
	}
	networks := map[string]policy.View{}
	var interfaces []policy.Interface
	for _, n := range s.Networks {
		interfaces = append(interfaces, policy.Interface{Name: n.Interface, Network: n.Name})
		networks[n.Name] = o.computed.view(n.Name, own)
	}
	return policy.Rules(networks, own.ID, interfaces, o.computed.custom)
}

// own returns the pod of a sandbox; ok is false if it is unknown.
func (o *policyObjects) own(s attach.Sandbox, attached *policy.Pod) (own policy.Pod, ok bool) {
	object, _, _ := o.pods.GetByKey(s.Pod.Namespace + "/" + s.Pod.Name)
	if p, ok := object.(*peer); ok && p.isOf(s.Pod.UID) {
		return p.pod, true
	}
	if attached != nil {
		return *attached, true
	}
	return own, false
}

// compute computes the views from all objects.
func (o *policyObjects) compute(custom policy.Custom) *views {
	v := &views{custom: custom, networks: map[string]policy.View{}}
	for _, object := range o.namespaces.List() {
		if n, ok := object.(*corev1.Namespace); ok {
			v.cluster.Namespaces = append(v.cluster.Namespaces, netpolicy.Namespace{Name: n.Name, Labels: n.Labels})
		}
	}
	for _, object := range o.pods.List() {
		if p, ok := object.(*peer); ok && p.pod.Networks != nil {
			v.cluster.Pods = append(v.cluster.Pods, p.pod)
		}
	}
	var objects []*unstructured.Unstructured
	for _, object := range o.policies.List() {
		if p, ok := object.(*unstructured.Unstructured); ok {
			objects = append(objects, p)
		}
	}
	v.cluster.Policies, v.problems = o.book.Read(objects)
	return v
}

// view returns a network. It includes the pod own, even if its status has not been written yet.
func (v *views) view(network string, own policy.Pod) policy.View {
	if _, found := own.Networks[network]; found {
		if _, found := v.networks[network]; !found {
			v.networks[network] = v.cluster.View(network)
		}
		return v.networks[network]
	}
	c := v.cluster
	own.Networks = map[string][]netip.Addr{network: nil}
	// The watch may still have an earlier pod with the same name.
	c.Pods = append(slices.DeleteFunc(slices.Clone(c.Pods), func(p policy.Pod) bool { return p.ID == own.ID }), own)
	return c.View(network)
}

// valid returns the last valid versions of all policies. The objects must have been read.
func (o *policyObjects) valid() map[types.UID]policy.Policy {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.computed == nil || o.stale {
		o.computed, o.stale = o.compute(o.custom()), false
	}
	return o.book.Valid()
}

func (o *policyObjects) policyProblems() []policy.Problem {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.computed == nil {
		return nil
	}
	return o.computed.problems
}

// netnsOf returns the path of a sandbox's network namespace in the daemon's container.
func netnsOf(s attach.Sandbox) string { return nsid.BelowRun(s.NetNS) }

package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/idling"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// objects are the objects that the agent watches, reduced to the fields that flows depend on. Use newObjects to create it.
type objects struct {
	hostSubnets, netNamespaces, firewalls, pods, namespaces, policies cache.Store
	// services and endpoints are used by the unidler only.
	services, endpoints cache.Store
	controllers         []cache.Controller
	// watched has an entry for each controller.
	watched []*watched
	// version changes with every change of an object.
	version *agent.Cell[int]
	changed func()

	// resumed is the number of outages of the API server that have ended: it changes when the server responds again.
	resumed *agent.Cell[int]
	// trying is held by the watch that tries next whether it responds.
	trying chan struct{}

	mu       sync.Mutex
	failures map[string]error
	// outage is true while the API server does not respond. resumedAt is the end of an outage after which some watches have not caught up; zero for none.
	outage    bool
	resumedAt time.Time
	// lastChange is the time of the last change of an object.
	lastChange time.Time
	// since has, by kind, the time of the first change that is not in the flows yet.
	since map[string]time.Time
}

// newObjects returns the watches of a mode; run starts them. Mode Subnet needs no namespaces and no policies. Only mode NetworkPolicy needs the pods of other
// nodes.
func newObjects(config *rest.Config, client kubernetes.Interface, node string, mode agentconfig.Mode, changed func()) (*objects, error) {
	sdn, err := sdnClient(config)
	if err != nil {
		return nil, err
	}
	o := emptyObjects(changed)
	o.hostSubnets = o.watch(sdn, "hostsubnets", &sdnv1.HostSubnet{}, fields.Everything())
	where := fields.OneTermEqualSelector("spec.nodeName", node)
	if mode != agentconfig.Subnet {
		o.netNamespaces = o.watch(sdn, "netnamespaces", &sdnv1.NetNamespace{}, fields.Everything())
		o.firewalls = o.watch(sdn, "egressnetworkpolicies", &sdnv1.EgressNetworkPolicy{}, fields.Everything())
	}
	if mode == agentconfig.NetworkPolicy {
		o.namespaces = o.watch(client.CoreV1().RESTClient(), "namespaces", &corev1.Namespace{}, fields.Everything())
		o.policies = o.watch(client.NetworkingV1().RESTClient(), "networkpolicies", &networkingv1.NetworkPolicy{}, fields.Everything())
		where = fields.Everything()
	}
	o.pods = o.watch(client.CoreV1().RESTClient(), "pods", &corev1.Pod{}, where)
	return o, nil
}

// emptyObjects returns objects without a watch.
func emptyObjects(changed func()) *objects {
	return &objects{version: agent.NewCell(0), resumed: agent.NewCell(0), trying: make(chan struct{}, 1), changed: changed, failures: map[string]error{}}
}

// sdnClient returns a client for the group network.openshift.io.
func sdnClient(config *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := sdnv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath, c.NegotiatedSerializer = &sdnv1.GroupVersion, "/apis", serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("configure the client of %s: %w", sdnv1.GroupVersion, err)
	}
	return client, nil
}

// watch adds a watch, and returns its store.
func (o *objects) watch(client cache.Getter, resource string, kind runtime.Object, where fields.Selector) cache.Store {
	inner := cache.NewListWatchFromClient(client, resource, "", where)
	of := &watched{resource: resource, client: client, where: where}
	of.received()
	name := strings.ToLower(reflect.TypeOf(kind).Elem().Name())
	fire := func() {
		o.recordChange(name)
		o.version.Update(func(n *int) bool { *n++; return true })
		o.changed()
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, _ error) {
				err := o.answered(ctx, resource, func() (err error) { list, err = inner.ListWithContextFunc(ctx, options); return err })
				if err == nil {
					of.received()
				}
				return list, err
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (w watch.Interface, _ error) {
				if err := o.answered(ctx, resource, func() (err error) { w, err = inner.WatchFuncWithContext(ctx, options); return err }); err != nil {
					return nil, err
				}
				return of.counted(w, o.closed), nil
			},
		},
		ObjectType: kind, Transform: reduced,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { fire() }, UpdateFunc: func(any, any) { fire() }, DeleteFunc: func(any) { fire() }},
	})
	of.store = store
	o.controllers, o.watched = append(o.controllers, controller), append(o.watched, of)
	return store
}

// recordChange records a change of an object of a kind.
func (o *objects) recordChange(kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastChange = time.Now()
	if _, found := o.since[kind]; found {
		return
	}
	if o.since == nil {
		o.since = map[string]time.Time{}
	}
	o.since[kind] = o.lastChange
}

// takeChanges returns and resets the times of the first changes. Call it before the objects are read for the computation of flows.
func (o *objects) takeChanges() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.since
	o.since = nil
	return taken
}

// returnChanges restores changes after a failed computation of flows.
func (o *objects) returnChanges(taken map[string]time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since == nil {
		o.since = map[string]time.Time{}
	}
	maps.Copy(o.since, taken) // they are older
}

func (o *objects) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, c := range o.controllers {
		running.Go(func() { c.RunWithContext(ctx) })
	}
	running.Wait()
}

// synced reports whether all objects have been read.
func (o *objects) synced() bool {
	for _, c := range o.controllers {
		if !c.HasSynced() {
			return false
		}
	}
	return true
}

// problem returns the errors of the API server.
func (o *objects) problem() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for resource, err := range o.failures {
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s from the Kubernetes API: %w", resource, err))
		}
	}
	return errors.Join(errs...)
}

// reduced removes the fields that the agent does not use: each agent stores many objects.
func reduced(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		out := &corev1.Pod{
			ObjectMeta: reducedMeta(o.ObjectMeta, true), Spec: corev1.PodSpec{NodeName: o.Spec.NodeName, HostNetwork: o.Spec.HostNetwork},
			Status: corev1.PodStatus{Phase: o.Status.Phase, PodIPs: o.Status.PodIPs},
		}
		for _, c := range o.Spec.Containers {
			out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Ports: c.Ports, SecurityContext: reducedPrivilege(c)})
		}
		for _, c := range o.Spec.InitContainers {
			switch privilege := reducedPrivilege(c); {
			case c.RestartPolicy != nil: // a sidecar, which may have ports
				out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Ports: c.Ports, SecurityContext: privilege})
			case privilege != nil:
				out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{SecurityContext: privilege})
			}
		}
		return out, nil
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: reducedMeta(o.ObjectMeta, true)}, nil
	case *corev1.Service:
		return reducedService(o), nil
	case *discoveryv1.EndpointSlice:
		return reducedEndpoints(o), nil
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: reducedMeta(o.ObjectMeta, false), Spec: o.Spec}, nil
	}
	return object, nil
}

// reducedPrivilege returns nil unless a container is privileged.
func reducedPrivilege(c corev1.Container) *corev1.SecurityContext {
	if s := c.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
		return &corev1.SecurityContext{Privileged: new(true)}
	}
	return nil
}

func reducedService(o *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: reducedMeta(o.ObjectMeta, false), Spec: corev1.ServiceSpec{ClusterIPs: o.Spec.ClusterIPs, ExternalIPs: o.Spec.ExternalIPs}}
	at, idled := o.Annotations[idling.IdledAt]
	if out.Annotations = nil; idled {
		out.Annotations = map[string]string{idling.IdledAt: at}
	}
	for _, p := range o.Spec.Ports {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Protocol: p.Protocol, Port: p.Port, NodePort: p.NodePort})
	}
	for _, i := range o.Status.LoadBalancer.Ingress {
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: i.IP})
	}
	return out
}

// reducedEndpoints keeps only whether an endpoint accepts connections.
func reducedEndpoints(o *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: reducedMeta(o.ObjectMeta, false), AddressType: o.AddressType}
	out.Annotations, out.Labels = nil, map[string]string{discoveryv1.LabelServiceName: o.Labels[discoveryv1.LabelServiceName]}
	if slices.ContainsFunc(o.Endpoints, idling.EndpointReady) {
		out.Endpoints = []discoveryv1.Endpoint{{}}
	}
	return out
}

func reducedMeta(m metav1.ObjectMeta, labels bool) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Annotations: m.Annotations}
	delete(out.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if labels {
		out.Labels = m.Labels
	}
	return out
}

// pod returns a pod of the node. An empty UID in want matches any.
func (o *objects) pod(want cniserver.Pod) (*corev1.Pod, error) {
	object, exists, err := o.pods.GetByKey(want.Namespace + "/" + want.Name)
	if err != nil || !exists {
		return nil, errors.Join(fmt.Errorf("pod %s/%s is not known on this node yet", want.Namespace, want.Name), err)
	}
	found := object.(*corev1.Pod)
	if want.UID != "" && want.UID != string(found.UID) {
		return nil, fmt.Errorf("pod %s/%s has UID %s, the sandbox is for UID %s", want.Namespace, want.Name, found.UID, want.UID)
	}
	return found, nil
}

// list returns all objects of a store; none if store is nil.
func list[T any](store cache.Store) []T {
	if store == nil {
		return nil
	}
	var out []T
	for _, object := range store.List() {
		if one, ok := object.(T); ok {
			out = append(out, one)
		}
	}
	return out
}

// policyPod returns the fields of a pod that policies depend on.
func policyPod(p *corev1.Pod) netpolicy.Pod {
	out := netpolicy.Pod{
		ID: netpolicy.ID{Namespace: p.Namespace, Name: p.Name}, Labels: p.Labels, HostNetwork: p.Spec.HostNetwork,
		Ended: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
	}
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			out.Addresses = append(out.Addresses, a)
		}
	}
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name != "" {
				out.Ports = append(out.Ports, netpolicy.NamedPort{Name: port.Name, Protocol: port.Protocol, Port: uint16(port.ContainerPort)})
			}
		}
	}
	return out
}

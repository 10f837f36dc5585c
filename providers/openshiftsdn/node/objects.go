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

// objects are what the agent reads of the API server, reduced to what flows depend on. Make them with newObjects.
type objects struct {
	hostSubnets, netNamespaces, firewalls, pods, namespaces, policies cache.Store
	// Those of the unidler alone.
	services, endpoints cache.Store
	controllers         []cache.Controller
	// version changes with the objects.
	version *agent.Cell[int]
	changed func()

	mu       sync.Mutex
	failures map[string]error
	// since is when the first change of a kind came that no flows have been computed from, by kind.
	since map[string]time.Time
}

// newObjects returns objects that run keeps up to date. Mode Subnet needs no namespaces and no policies; only mode NetworkPolicy needs the pods of
// other nodes.
func newObjects(config *rest.Config, client kubernetes.Interface, node string, mode agentconfig.Mode, changed func()) (*objects, error) {
	sdn, err := sdnClient(config)
	if err != nil {
		return nil, err
	}
	o := &objects{version: agent.NewCell(0), changed: changed, failures: map[string]error{}}
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

// sdnClient reads the kinds of network.openshift.io.
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

// watch keeps a store of one kind.
func (o *objects) watch(client cache.Getter, resource string, kind runtime.Object, where fields.Selector) cache.Store {
	inner := cache.NewListWatchFromClient(client, resource, "", where)
	name := strings.ToLower(reflect.TypeOf(kind).Elem().Name())
	fire := func() {
		o.came(name)
		o.version.Update(func(n *int) bool { *n++; return true })
		o.changed()
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				list, err := inner.ListWithContextFunc(ctx, options)
				o.mu.Lock()
				defer o.mu.Unlock()
				o.failures[resource] = err
				return list, err
			},
			WatchFuncWithContext: inner.WatchFuncWithContext,
		},
		ObjectType: kind, Transform: reduced,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { fire() }, UpdateFunc: func(any, any) { fire() }, DeleteFunc: func(any) { fire() }},
	})
	o.controllers = append(o.controllers, controller)
	return store
}

// came notes that an object of a kind has changed.
func (o *objects) came(kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, waits := o.since[kind]; waits {
		return
	}
	if o.since == nil {
		o.since = map[string]time.Time{}
	}
	o.since[kind] = time.Now()
}

// takeChanges returns when the first change of each kind came since the last call. It is called before the objects are read from which flows are computed.
func (o *objects) takeChanges() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.since
	o.since = nil
	return taken
}

// returnChanges takes back changes from which no flows could be computed.
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

// synced reports whether all objects are known.
func (o *objects) synced() bool {
	for _, c := range o.controllers {
		if !c.HasSynced() {
			return false
		}
	}
	return true
}

// problem is why the API server does not answer.
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

// reduced drops what the agent does not look at: there are many objects, and each node has all of them.
func reduced(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		out := &corev1.Pod{
			ObjectMeta: kept(o.ObjectMeta, true), Spec: corev1.PodSpec{NodeName: o.Spec.NodeName, HostNetwork: o.Spec.HostNetwork},
			Status: corev1.PodStatus{Phase: o.Status.Phase, PodIPs: o.Status.PodIPs},
		}
		for _, c := range o.Spec.Containers {
			out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Ports: c.Ports, SecurityContext: keptPrivilege(c)})
		}
		for _, c := range o.Spec.InitContainers {
			switch privilege := keptPrivilege(c); {
			case c.RestartPolicy != nil: // it runs beside the others, and serves
				out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Ports: c.Ports, SecurityContext: privilege})
			case privilege != nil:
				out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{SecurityContext: privilege})
			}
		}
		return out, nil
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: kept(o.ObjectMeta, true)}, nil
	case *corev1.Service:
		return reducedService(o), nil
	case *discoveryv1.EndpointSlice:
		return reducedEndpoints(o), nil
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: kept(o.ObjectMeta, false), Spec: o.Spec}, nil
	}
	return object, nil
}

// keptPrivilege is nil unless a container is privileged.
func keptPrivilege(c corev1.Container) *corev1.SecurityContext {
	if s := c.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
		return &corev1.SecurityContext{Privileged: new(true)}
	}
	return nil
}

func reducedService(o *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: kept(o.ObjectMeta, false), Spec: corev1.ServiceSpec{ClusterIPs: o.Spec.ClusterIPs, ExternalIPs: o.Spec.ExternalIPs}}
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

// reducedEndpoints keeps whether there is an endpoint that takes connections.
func reducedEndpoints(o *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: kept(o.ObjectMeta, false), AddressType: o.AddressType}
	out.Annotations, out.Labels = nil, map[string]string{discoveryv1.LabelServiceName: o.Labels[discoveryv1.LabelServiceName]}
	if slices.ContainsFunc(o.Endpoints, idling.EndpointReady) {
		out.Endpoints = []discoveryv1.Endpoint{{}}
	}
	return out
}

func kept(m metav1.ObjectMeta, labels bool) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Annotations: m.Annotations}
	delete(out.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if labels {
		out.Labels = m.Labels
	}
	return out
}

// pod returns a pod of the node. Without a UID in want any pod of the name counts.
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

// list returns all objects of a store; none if the mode has no such store.
func list[T any](store cache.Store) []T {
	if store == nil {
		return nil
	}
	var out []T
	for _, object := range store.List() {
		if one, is := object.(T); is {
			out = append(out, one)
		}
	}
	return out
}

// policyPod is what policies look at of a pod.
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

package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// objects are the watched Node and Pods of this node.
type objects struct {
	name        string
	nodes, pods cache.Store
	controllers []cache.Controller
	// version changes with every change of the pods.
	version *agent.Cell[int]
	failure atomic.Pointer[error]
}

// newObjects returns the watches; run starts them. changed is called when the Node has changed.
func newObjects(client kubernetes.Interface, node string, changed func()) *objects {
	o := &objects{name: node, version: agent.NewCell(0)}
	rest := client.CoreV1().RESTClient()
	var controller cache.Controller
	o.nodes, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: o.reporting(cache.NewListWatchFromClient(rest, "nodes", "", fields.OneTermEqualSelector("metadata.name", node))),
		ObjectType:    &corev1.Node{}, Transform: onlyMetadata, Handler: onChange(changed),
	})
	o.controllers = append(o.controllers, controller)
	o.pods, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: o.reporting(cache.NewListWatchFromClient(rest, "pods", "", fields.OneTermEqualSelector("spec.nodeName", node))),
		ObjectType:    &corev1.Pod{}, Transform: onlyMetadata, Handler: onChange(func() { o.version.Update(func(n *int) bool { *n++; return true }) }),
	})
	o.controllers = append(o.controllers, controller)
	return o
}

func (o *objects) run(ctx context.Context) {
	done := make(chan struct{})
	for _, c := range o.controllers {
		go func() { c.RunWithContext(ctx); done <- struct{}{} }()
	}
	for range o.controllers {
		<-done
	}
}

// reporting stores the last error of list requests.
func (o *objects) reporting(inner *cache.ListWatch) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := inner.ListWithContextFunc(ctx, options)
			o.failure.Store(&err)
			return list, err
		},
		WatchFuncWithContext: inner.WatchFuncWithContext,
	}
}

// problem returns the last error of the API server.
func (o *objects) problem() error {
	if err := o.failure.Load(); err != nil && *err != nil {
		return fmt.Errorf("read nodes and pods from the Kubernetes API: %w", *err)
	}
	return nil
}

// onlyMetadata removes the fields that the agent does not use.
func onlyMetadata(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		return &corev1.Node{ObjectMeta: reducedMeta(o.ObjectMeta)}, nil
	case *corev1.Pod:
		return &corev1.Pod{ObjectMeta: reducedMeta(o.ObjectMeta)}, nil
	}
	return object, nil
}

func reducedMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Annotations: map[string]string{}}
	for _, key := range []string{topology.NodeSubnets, topology.PodNetworks, bandwidth.AnnotationIngress, bandwidth.AnnotationEgress} {
		if value, set := m.Annotations[key]; set {
			out.Annotations[key] = value
		}
	}
	return out
}

func onChange(f func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: func(any) { f() }, UpdateFunc: func(any, any) { f() }, DeleteFunc: func(any) { f() }}
}

// blocks returns the blocks of the node.
func (o *objects) blocks() ([]netip.Prefix, error) {
	object, exists, err := o.nodes.GetByKey(o.name)
	if err != nil || !exists {
		return nil, errors.Join(fmt.Errorf("the Node %s is not known yet", o.name), err)
	}
	value, set := object.(*corev1.Node).Annotations[topology.NodeSubnets]
	if !set {
		return nil, fmt.Errorf("the Node %s has no annotation %s: the master has not assigned a block to it yet", o.name, topology.NodeSubnets)
	}
	return topology.DecodeNodeSubnets(value)
}

// pod returns the network of a pod and the pod's UID. An empty UID in want matches any.
func (o *objects) pod(want cniserver.Pod) (topology.Pod, string, error) {
	object, exists, err := o.pods.GetByKey(want.Namespace + "/" + want.Name)
	if err != nil || !exists {
		return topology.Pod{}, "", errors.Join(fmt.Errorf("pod %s/%s is not known on this node yet", want.Namespace, want.Name), err)
	}
	found := object.(*corev1.Pod)
	if want.UID != "" && want.UID != string(found.UID) {
		return topology.Pod{}, "", fmt.Errorf("pod %s/%s has UID %s, the sandbox is for UID %s", want.Namespace, want.Name, found.UID, want.UID)
	}
	value, set := found.Annotations[topology.PodNetworks]
	if !set {
		return topology.Pod{}, "", fmt.Errorf("pod %s/%s has no annotation %s: the master has not assigned addresses to it yet", want.Namespace, want.Name, topology.PodNetworks)
	}
	given, err := topology.DecodePod(value)
	if err != nil {
		return given, "", fmt.Errorf("pod %s/%s: %w", want.Namespace, want.Name, err)
	}
	return given, string(found.UID), nil
}

// limits returns an error if a pod has invalid bandwidth limits.
func (o *objects) limits(of cniserver.Pod) error {
	object, exists, err := o.pods.GetByKey(of.Namespace + "/" + of.Name)
	if err != nil || !exists {
		return err
	}
	_, err = bandwidth.Read(object.(*corev1.Pod).Annotations)
	return err
}

// await waits until the master has assigned addresses to a pod. On timeout it returns the last error.
func (o *objects) await(ctx context.Context, want cniserver.Pod) (topology.Pod, string, error) {
	for {
		_, changed := o.version.Get()
		given, uid, err := o.pod(want)
		if err == nil {
			return given, uid, nil
		}
		if agent.Wait(ctx, changed, nil, nil); ctx.Err() != nil {
			return given, "", err
		}
	}
}

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/containernetworking/cni/libcni"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// annotationResource is the annotation of a definition with the resource whose devices it uses.
	annotationResource = "k8s.v1.cni.cncf.io/resourceName"
	// annotationStatic has the kubelet's UID of a static pod; its mirror pod in the API server has another one.
	annotationStatic = "kubernetes.io/config.hash"
	// readTimeout is the timeout of reading a definition from the API server before the copy of the watch is used.
	readTimeout = 2 * time.Second
)

var resourceDefinitions = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

// objects are the watched Pods of this node and definitions of networks.
type objects struct {
	client      kubernetes.Interface
	dynamic     dynamic.Interface
	node        string
	pods        cache.Store
	defs        cache.Store
	controllers []cache.Controller
	failure     atomic.Pointer[error]
	defFailure  atomic.Pointer[error]
	// reads are readings of definitions from the API server.
	reads agent.LatestBy[*unstructured.Unstructured]
	// read are the definitions of the last call of checked, which is not concurrent.
	read map[string]checkedVersion
}

// checkedVersion is the result of checking one version of a definition.
type checkedVersion struct {
	uid     types.UID
	version string
	finding.Checked
}

// newObjects returns the watches; run starts them. changed is called after each change.
func newObjects(client kubernetes.Interface, definitions dynamic.Interface, node string, changed func()) *objects {
	o := &objects{client: client, dynamic: definitions, node: node}
	var controller cache.Controller
	listPods := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.OneTermEqualSelector("spec.nodeName", node))
	o.pods, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: reporting(&o.failure, listPods), ObjectType: &corev1.Pod{}, Transform: onlyNeeded,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }},
	})
	o.controllers = append(o.controllers, controller)
	resource := definitions.Resource(resourceDefinitions)
	listDefinitions := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options)
		},
	}
	o.defs, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: reporting(&o.defFailure, listDefinitions), ObjectType: &unstructured.Unstructured{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() }},
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
func reporting(failure *atomic.Pointer[error], inner *cache.ListWatch) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := inner.ListWithContextFunc(ctx, options)
			failure.Store(&err)
			return list, err
		},
		WatchFuncWithContext: inner.WatchFuncWithContext,
	}
}

// problem returns the last errors of the API server.
func (o *objects) problem() error {
	return readFailures(map[string]*atomic.Pointer[error]{"pods": &o.failure, "network attachment definitions": &o.defFailure})
}

// readFailures returns the last errors of list requests, by resource.
func readFailures(failures map[string]*atomic.Pointer[error]) error {
	var errs []error
	for what, failure := range failures {
		if err := failure.Load(); err != nil && *err != nil {
			errs = append(errs, fmt.Errorf("read %s from the Kubernetes API: %w", what, *err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return len(a.Error()) - len(b.Error()) })
	return errors.Join(errs...)
}

// synced reports whether all objects have been read once.
func (o *objects) synced() bool {
	return !slices.ContainsFunc(o.controllers, func(c cache.Controller) bool { return !c.HasSynced() })
}

// onlyNeeded removes the fields that the daemon does not use.
func onlyNeeded(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	m := p.ObjectMeta
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp, Annotations: map[string]string{}}}
	for _, key := range []string{wire.AnnotationNetworks, wire.AnnotationDefault, wire.AnnotationStatus, annotationStatic} {
		if value, set := m.Annotations[key]; set {
			out.Annotations[key] = value
		}
	}
	out.Spec.HostNetwork, out.Spec.NodeName = p.Spec.HostNetwork, p.Spec.NodeName
	out.Status.Phase, out.Status.PodIP = p.Status.Phase, p.Status.PodIP
	return out, nil
}

// listed returns the pods of the node.
func (o *objects) listed() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, object := range o.pods.List() {
		if p, ok := object.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
	}
	return pods
}

// pod returns the pod of a sandbox, from the API server if the watch does not have it yet. It returns an error for another pod of the same name, which must
// not get its networks.
func (o *objects) pod(ctx context.Context, want wire.Pod) (*corev1.Pod, error) {
	if object, exists, err := o.pods.GetByKey(want.Namespace + "/" + want.Name); err == nil && exists {
		if p, ok := object.(*corev1.Pod); ok && isOf(p, want.UID) {
			return p, nil
		}
	}
	p, err := o.client.CoreV1().Pods(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read pod %s/%s: %w", want.Namespace, want.Name, err)
	}
	if !isOf(p, want.UID) {
		return nil, fmt.Errorf("pod %s/%s has UID %s, the sandbox is for UID %s: %w", want.Namespace, want.Name, p.UID, want.UID, errOtherPod)
	}
	return p, nil
}

// errOtherPod means that the pod of a sandbox was replaced by another one with the same name.
var errOtherPod = errors.New("it is another pod")

// isOf reports whether a pod is that of the runtime. An empty UID matches any.
func isOf(p *corev1.Pod, uid string) bool {
	return uid == "" || uid == string(p.UID) || uid == p.Annotations[annotationStatic]
}

// definitionData is the relevant content of a definition.
type definitionData struct{ config, resource string }

// definitionResult is a definition or the error of reading it.
type definitionResult struct {
	definitionData
	err error
}

// definitions reads definitions concurrently, each once, and returns them by namespace/name.
func (o *objects) definitions(ctx context.Context, requested []selection.Selection) map[string]definitionResult {
	all := map[string]definitionResult{}
	for _, s := range requested {
		all[s.Namespace+"/"+s.Name] = definitionResult{}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, key := range slices.Collect(maps.Keys(all)) {
		group.Go(func() {
			namespace, name, _ := strings.Cut(key, "/")
			k, err := o.definition(ctx, namespace, name)
			mu.Lock()
			defer mu.Unlock()
			all[key] = definitionResult{k, err}
		})
	}
	group.Wait()
	return all
}

// definition reads a definition from the API server, since a watch may lag. If the API server does not respond, it returns the copy of the watch.
func (o *objects) definition(ctx context.Context, namespace, name string) (definitionData, error) {
	object, err := o.reads.Get(namespace+"/"+name, func() (*unstructured.Unstructured, error) {
		// The end of one request does not end the reading of others.
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return o.dynamic.Resource(resourceDefinitions).Namespace(namespace).Get(reading, name, metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		return definitionData{}, cniproto.Errorf(cniproto.CodeInvalidConfig, "there is no NetworkAttachmentDefinition %s in namespace %s", name, namespace)
	case err != nil:
		cached, exists, cacheErr := o.defs.GetByKey(namespace + "/" + name)
		var ok bool
		if object, ok = cached.(*unstructured.Unstructured); !ok || !exists || cacheErr != nil {
			return definitionData{}, cniproto.Errorf(cniproto.CodeTryAgain, "read NetworkAttachmentDefinition %s/%s: %v", namespace, name, err)
		}
	}
	config, _, err := unstructured.NestedString(object.Object, "spec", "config")
	if err != nil {
		return definitionData{}, cniproto.Errorf(cniproto.CodeInvalidConfig, "NetworkAttachmentDefinition %s/%s: %v", namespace, name, err)
	}
	return definitionData{config: config, resource: object.GetAnnotations()[annotationResource]}, nil
}

// checked returns all definitions of the watch by namespace/name. Only what has changed since the last call is parsed again: definitions may be large and many.
func (o *objects) checked(log *slog.Logger) map[string]finding.Checked {
	read, all := map[string]checkedVersion{}, map[string]finding.Checked{}
	for _, object := range o.defs.List() {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		key := u.GetNamespace() + "/" + u.GetName()
		c, known := o.read[key]
		if !known || c.uid != u.GetUID() || c.version != u.GetResourceVersion() {
			c = checkedVersion{u.GetUID(), u.GetResourceVersion(), finding.ReadObject(u)}
			if p := c.Panic; p != nil {
				log.Error("panic while a NetworkAttachmentDefinition was checked", "definition", key, "panic", p.Value, "stack", string(p.Stack))
			}
		}
		read[key], all[key] = c, c.Checked
	}
	o.read = read
	return all
}

// prefixOwner returns the namespace with the oldest definition among those with the prefix of bridges of a namespace; empty if it is this namespace.
func (o *objects) prefixOwner(namespace string) string {
	prefixes := map[string]string{namespace: definition.BridgePrefix(namespace)}
	var oldest *unstructured.Unstructured
	for _, object := range o.defs.List() {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		other := u.GetNamespace()
		if _, known := prefixes[other]; !known {
			prefixes[other] = definition.BridgePrefix(other)
		}
		if prefixes[other] == prefixes[namespace] && (oldest == nil || isOlder(u, oldest)) {
			oldest = u
		}
	}
	if oldest == nil || oldest.GetNamespace() == namespace {
		return ""
	}
	return oldest.GetNamespace()
}

// isOlder reports whether a was created before b; all nodes decide in the same way about objects of the same second.
func isOlder(a, b *unstructured.Unstructured) bool {
	created, before := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !created.Equal(&before) {
		return created.Before(&before)
	}
	return a.GetNamespace() < b.GetNamespace()
}

// fromFile returns the named configuration from a directory of the node: a list, or a configuration of one plugin.
func fromFile(dir, name string) (string, error) {
	for _, extensions := range [][]string{{".conflist"}, {".conf", ".json"}} {
		files, err := libcni.ConfFiles(dir, extensions)
		if err != nil {
			return "", cniproto.Errorf(cniproto.CodeIO, "read %s: %v", dir, err)
		}
		slices.Sort(files)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				continue // another file may have the name
			}
			if list, err := libcni.NetworkConfFromBytes(raw); err == nil && list.Name == name {
				return string(raw), nil
			}
		}
	}
	return "", cniproto.Errorf(cniproto.CodeInvalidConfig, "the NetworkAttachmentDefinition %s has no spec.config, and no file in %s has a configuration of that name", name, filepath.Clean(dir))
}

package live

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// Follow signals changes of pods, and of the endpoints of Services, until the context ends. names are namespace/name; others are ignored.
// Pods of users are not watched otherwise: there may be very many.
func (c *Cluster) Follow(ctx context.Context, names ...string) {
	for _, text := range names {
		namespace, name, ok := strings.Cut(text, "/")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		c.follow(ctx, &corev1.Pod{}, toolscache.NewFilteredListWatchFromClient(c.typed.CoreV1.RESTClient(), "pods", namespace, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
		c.follow(ctx, &discoveryv1.EndpointSlice{}, toolscache.NewFilteredListWatchFromClient(c.typed.DiscoveryV1.RESTClient(), "endpointslices", namespace, func(o *metav1.ListOptions) {
			o.LabelSelector = labels.Set{discoveryv1.LabelServiceName: name}.String()
		}))
	}
}

func (c *Cluster) follow(ctx context.Context, o runtime.Object, objects toolscache.ListerWatcher) {
	informer := toolscache.NewSharedInformer(objects, o, 0)
	// The page reports what the user may not read.
	_ = informer.SetWatchErrorHandler(func(*toolscache.Reflector, error) {})
	if _, err := informer.AddEventHandler(c.handler()); err != nil {
		return // only of an informer that has ended
	}
	go informer.RunWithContext(ctx)
}

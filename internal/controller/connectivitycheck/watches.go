package connectivitycheck

import (
	"slices"
	"strings"
	"unique"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// service identifies a Service that is checked or whose EndpointSlices are read.
type service struct{ namespace, name string }

// Services that the controller reads.
var (
	kubernetes    = service{"default", "kubernetes"}
	kubeAPIServer = service{"openshift-kube-apiserver", "apiserver"}
	openshiftAPI  = service{"openshift-apiserver", "api"}
	targets       = service{connectivity.Namespace, connectivity.TargetName}
	sources       = service{connectivity.Namespace, connectivity.SourceName}
)

// cacheOptions returns the kinds that the controller reads from a cache of its own: a few Services and their EndpointSlices, and the checks
// without their history.
func cacheOptions() map[client.Object]cache.ByObject {
	services, slices := map[string]cache.Config{}, map[string]cache.Config{}
	for _, s := range []service{kubernetes, kubeAPIServer, openshiftAPI} {
		services[s.namespace] = cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.name", s.name)}
		slices[s.namespace] = cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.name})}
	}
	services[connectivity.Namespace], slices[connectivity.Namespace] = cache.Config{}, cache.Config{}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}:            {Namespaces: services},
		&discoveryv1.EndpointSlice{}: {Namespaces: slices},
		&operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{}: {
			Namespaces: map[string]cache.Config{connectivity.Namespace: {}}, Transform: trim},
	}
}

// trim reduces a check to its endpoints, owner and condition Reachable, because there are thousands of them. Repeated strings are shared. A
// label with the expected value is omitted.
func trim(o any) (any, error) {
	object, ok := o.(*check)
	if !ok {
		return o, nil
	}
	kept := &check{ObjectMeta: metav1.ObjectMeta{
		Name: object.Name, Namespace: same(object.Namespace), ResourceVersion: object.ResourceVersion, DeletionTimestamp: object.DeletionTimestamp,
	}, Spec: operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckSpec{SourcePod: same(object.Spec.SourcePod), TargetEndpoint: object.Spec.TargetEndpoint}}
	if pod := object.Labels[connectivity.SourceLabel]; pod != object.Spec.SourcePod {
		kept.Labels = map[string]string{connectivity.SourceLabel: pod}
	}
	for _, owner := range object.OwnerReferences {
		kept.OwnerReferences = append(kept.OwnerReferences, metav1.OwnerReference{UID: types.UID(same(string(owner.UID)))})
	}
	for _, c := range object.Status.Conditions {
		if c.Type != operatorcontrolplanev1alpha1.Reachable {
			continue
		}
		k := operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{
			Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionStatus(same(string(c.Status))), LastTransitionTime: c.LastTransitionTime}
		if c.Status != metav1.ConditionTrue {
			k.Message = strings.Clone(c.Message)
		}
		kept.Status.Conditions = []operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{k}
	}
	return kept, nil
}

// same returns a shared copy of a string.
func same(s string) string { return unique.Make(s).Value() }

// checkChanged passes updates of the fields that trim keeps.
func checkChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*check)
		after, okAfter := e.ObjectNew.(*check)
		return !ok || !okAfter || before.Spec != after.Spec || !equality.Semantic.DeepEqual(before.Status, after.Status) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
	}}
}

// nodeChanged passes created and deleted nodes, and changes of addresses or of whether the kubelet responds.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !ok || !okAfter || isDown(before) != isDown(after) || !slices.Equal(before.Status.Addresses, after.Status.Addresses)
	}}
}

func (c *Controller) setupConfiguration(mgr manager.Manager) error {
	return loop.Forward(mgr, Name+"-configuration", []func(){c.wake.Fire, c.OnConfiguration},
		loop.On(mgr, &configv1.Network{}, loop.Once(), configurationChanged()),
		loop.On(mgr, &configv1.Infrastructure{}, loop.Once()),
	)
}

func configurationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*configv1.Network)
		after, okAfter := e.ObjectNew.(*configv1.Network)
		return !ok || !okAfter || !equality.Semantic.DeepEqual(before.Spec.NetworkDiagnostics, after.Spec.NetworkDiagnostics)
	}}
}

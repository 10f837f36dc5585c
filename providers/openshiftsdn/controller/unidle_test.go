package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	unidlingv1alpha1 "github.com/openshift/api/unidling/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/idling"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

// idled creates a Service whose Deployment was scaled from three to zero at a time.
func (w *world) idled(namespace, name string, at time.Time) {
	w.t.Helper()
	labels := map[string]string{"app": name}
	annotations, err := idling.Encode(idling.State{At: at, Targets: []idling.Target{
		{CrossGroupObjectReference: unidlingv1alpha1.CrossGroupObjectReference{Kind: "Deployment", Group: "apps", Name: name}, Replicas: 3},
	}})
	w.must(err)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "registry.invalid/a"}}}},
		}},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Endpoints{ObjectMeta: meta}, //nolint:staticcheck // what marks idled Services
	} {
		w.must(w.api.Create(w.t.Context(), o.DeepCopyObject().(client.Object)))
		w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), o) })
	}
}

// ask creates the Event that requests pods.
func (w *world) ask(namespace, service string, at time.Time) {
	w.t.Helper()
	w.must(w.api.Create(w.t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: service + "-"}, Reason: idling.NeedPods, Message: "a client connects", Type: corev1.EventTypeNormal,
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: namespace, Name: service}, LastTimestamp: metav1.NewTime(at),
	}))
}

func (w *world) replicas(namespace, name string) int32 {
	w.t.Helper()
	var d appsv1.Deployment
	w.must(w.api.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &d))
	return *d.Spec.Replicas
}

func (w *world) marked(o client.Object, namespace, name string) bool {
	w.t.Helper()
	w.must(w.api.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	_, marked := o.GetAnnotations()[idling.IdledAt]
	return marked
}

func TestIdledServicesAreUnidled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy)
	w.namespace("shop")
	now := time.Now()
	w.idled("shop", "web", now)
	w.idled("shop", "db", now)
	w.ask("shop", "db", now.Add(-time.Minute)) // from before it was idled
	w.ask("shop", "web", now)
	eventually.Holds(t, "the Deployment has its replicas again", func() (string, bool) {
		n := w.replicas("shop", "web")
		return fmt.Sprint(n), n == 3
	})
	if !w.marked(&corev1.Service{}, "shop", "web") {
		t.Error("the Service is not marked as idled although it has no endpoint: nodes refuse connections")
	}
	endpoints := &corev1.Endpoints{} //nolint:staticcheck // what marks idled Services
	w.must(w.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, endpoints))
	apitest.Change(t, w.api, endpoints, func() {
		endpoints.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.128.2.9"}}, Ports: []corev1.EndpointPort{{Port: 80}}}} //nolint:staticcheck // likewise
	})
	eventually.Holds(t, "the annotations are removed from both", func() (string, bool) {
		return "", !w.marked(&corev1.Service{}, "shop", "web") && !w.marked(&corev1.Endpoints{}, "shop", "web") //nolint:staticcheck // likewise
	})
	if n := w.replicas("shop", "db"); n != 0 {
		t.Errorf("an Event from before the Service was idled scales to %d", n)
	}

	// What cannot be read is reported, and other Services are woken all the same.
	s := &corev1.Service{}
	if w.marked(s, "shop", "db") {
		apitest.Change(t, w.api, s, func() { s.Annotations[idling.Targets] = `[{"kind":"Node","name":"a","replicas":1}]` })
		e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}} //nolint:staticcheck // likewise
		w.must(w.api.Delete(t.Context(), e))
	}
	w.ask("shop", "db", now.Add(time.Minute))
	w.event("db", "UnidleFailed", `Node "a" of group "", which cannot be scaled here`)
}

func TestOpenShiftUnidlesServicesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy, func(c *controller.Config) { c.Network.OpenShift = true })
	w.namespace("shop")
	w.idled("shop", "web", time.Now())
	w.ask("shop", "web", time.Now())
	w.namespace("later")
	w.netns("later") // the controller works
	if n := w.replicas("shop", "web"); n != 0 {
		t.Errorf("the Deployment has %d replicas", n)
	}
}

package kit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Served returns the labels of the pods that a Service of this package selects.
func Served() map[string]string { return map[string]string{"app": "server"} }

// Service returns a Service whose port 80 leads to port 8080 of pods with the labels Served.
func Service(ns, name string, change func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: Served(),
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	change(&s.Spec)
	return s
}

// Expose runs a server on every node behind a Service with the name web, and returns both.
func (k *Kit) Expose(t testing.TB, change func(*corev1.ServiceSpec)) (*corev1.Service, map[string]*corev1.Pod) {
	t.Helper()
	ns := k.Namespace(t)
	pods := k.ServerOnEachNode(t, ns, Served())
	s := Service(ns, "web", change)
	if err := k.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s, pods
}

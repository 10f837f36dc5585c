// Package typedclient has the typed clients of the API groups that commands use. client-go's Clientset has those of all groups and versions, and a binary that
// contains it is 1 MB larger.
package typedclient

import (
	"errors"
	"net/http"

	admissionregistrationv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
)

// Clients are clients of one API server. Each has the rate limit of the configuration.
type Clients struct {
	AdmissionregistrationV1 *admissionregistrationv1.AdmissionregistrationV1Client
	AppsV1                  *appsv1.AppsV1Client
	AuthorizationV1         *authorizationv1.AuthorizationV1Client
	CoordinationV1          *coordinationv1.CoordinationV1Client
	CoreV1                  *corev1.CoreV1Client
	DiscoveryV1             *discoveryv1.DiscoveryV1Client
	NetworkingV1            *networkingv1.NetworkingV1Client
}

// New returns clients, which share connections.
func New(config *rest.Config) (*Clients, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	o := opener{config: config, httpClient: httpClient}
	c := &Clients{
		AdmissionregistrationV1: open(&o, admissionregistrationv1.NewForConfigAndClient),
		AppsV1:                  open(&o, appsv1.NewForConfigAndClient),
		AuthorizationV1:         open(&o, authorizationv1.NewForConfigAndClient),
		CoordinationV1:          open(&o, coordinationv1.NewForConfigAndClient),
		CoreV1:                  open(&o, corev1.NewForConfigAndClient),
		DiscoveryV1:             open(&o, discoveryv1.NewForConfigAndClient),
		NetworkingV1:            open(&o, networkingv1.NewForConfigAndClient),
	}
	return c, errors.Join(o.errs...)
}

// opener collects the errors of creating clients.
type opener struct {
	config     *rest.Config
	httpClient *http.Client
	errs       []error
}

func open[T any](o *opener, create func(*rest.Config, *http.Client) (T, error)) T {
	c, err := create(o.config, o.httpClient)
	o.errs = append(o.errs, err)
	return c
}

package network

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestMetricsOfTheNetworkRequireAuthorization tests the authorization of every Service by which Prometheus discovers a component of the
// network.
func TestMetricsOfTheNetworkRequireAuthorization(t *testing.T) {
	var servers []kit.MetricsServer
	for _, n := range network.Operands().Namespaces {
		var services corev1.ServiceList
		if err := lab.Client.List(t.Context(), &services, client.InNamespace(n.Name)); err != nil {
			t.Fatal(err)
		}
		for _, s := range services.Items {
			if slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "metrics" }) {
				// All binaries have a metric of their start time or of the version of Go with which they were built.
				servers = append(servers, kit.MetricsServer{Title: n.Name + "/" + s.Name, Figure: "process_start_time_seconds", Address: func(ctx context.Context) (string, error) {
					return endpoint(ctx, s)
				}})
			}
		}
	}
	if len(servers) == 0 {
		t.Fatal("no Service of the network has metrics")
	}
	lab.MetricsAreForReaders(t, servers...)
}

// endpoint returns the first address and port of a Service's pods.
func endpoint(ctx context.Context, s corev1.Service) (string, error) {
	var found discoveryv1.EndpointSliceList
	if err := lab.Client.List(ctx, &found, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name}); err != nil {
		return "", err
	}
	for _, e := range found.Items {
		for _, p := range e.Ports {
			if p.Port != nil && len(e.Endpoints) > 0 && len(e.Endpoints[0].Addresses) > 0 {
				return net.JoinHostPort(e.Endpoints[0].Addresses[0], strconv.Itoa(int(*p.Port))), nil
			}
		}
	}
	return "", fmt.Errorf("service %s/%s has no endpoint", s.Namespace, s.Name)
}

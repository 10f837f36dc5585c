package diagnostics

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Workloads are the sources and the targets of connectivity checks.
//
// Sources are scraped by clients in any namespace, which authenticate. They open TCP connections to every address and port: checks name
// API servers and load balancers, whose ports differ from cluster to cluster. Servers of DNS answer on port 53, and on port 5353 behind
// the Service of OpenShift. Targets are reached by sources only, and open no connection.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{
			Name: connectivity.SourceName, Env: []string{"POD_NAME", "POD_NAMESPACE"},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, connectivity.MetricsPort)}}},
			Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{
				{Protocol: new(corev1.ProtocolTCP)}, port(corev1.ProtocolUDP, 53), port(corev1.ProtocolUDP, 5353),
			}}},
		},
		{
			Name: connectivity.TargetName, Placed: true, Rolling: true, Env: []string{"GOMAXPROCS"},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": connectivity.SourceName}}}},
				Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, connectivity.TargetPort)},
			}},
		},
	}
}

// port is one port of a protocol.
func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}

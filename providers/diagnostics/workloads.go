package diagnostics

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Workloads returns the sources and the targets of connectivity checks.
//
// Authenticated clients in any namespace may read the metrics of sources. Sources open TCP connections to all addresses and ports, since checks name API
// servers and load balancers, whose ports differ between clusters. DNS servers use port 53, and port 5353 behind OpenShift's Service. Only sources connect to
// targets, and targets open no connections.
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

// port returns a port of a protocol.
func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}

package connectivity

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// The names of the policies. Each selects the pods whose label app is its name.
const (
	denyIngress   = "deny-ingress"
	allowLabelled = "allow-labelled"
	allowPort     = "allow-port"
	allowDNS      = "allow-dns"
)

// The names of the pods that test them. The pods that allowDNS selects test it.
const (
	plainClient    = "plain-client"
	labelledClient = "labelled-client"
)

// mostRestricted is the default number of nodes on which policies and isolation are tested: enough for pods on the same and on different nodes.
const mostRestricted = 2

// restricted returns the places on which policies and isolation are tested: those with a server on the pod network.
func restricted(places []place, named bool) []place {
	with := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return len(p.pod) == 0 })
	if !named && len(with) > mostRestricted {
		with = with[:mostRestricted]
	}
	return with
}

// guarded are the servers that a policy selects: their addresses by node, and those of their Service.
type guarded struct {
	pods    map[string][]string
	service []string
}

// policies returns the NetworkPolicies of a test, with those for egress only if egress is true.
func policies(egress bool) []*networkingv1.NetworkPolicy {
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	port := func(protocol *corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: protocol, Port: new(intstr.FromInt32(number))}
	}
	policy := func(name string, direction networkingv1.PolicyType, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
		spec.PodSelector.MatchLabels, spec.PolicyTypes = map[string]string{"app": name}, []networkingv1.PolicyType{direction}
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	all := []*networkingv1.NetworkPolicy{
		policy(denyIngress, networkingv1.PolicyTypeIngress, networkingv1.NetworkPolicySpec{}),
		policy(allowLabelled, networkingv1.PolicyTypeIngress, networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": labelledClient}}}}}}}),
		policy(allowPort, networkingv1.PolicyTypeIngress, networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{
			Ports: []networkingv1.NetworkPolicyPort{port(&tcp, serverPort)}}}}),
	}
	if egress {
		// Policies apply to the port of the DNS pod behind the Service, which is 5353 on OpenShift.
		all = append(all, policy(allowDNS, networkingv1.PolicyTypeEgress, networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{
			Ports: []networkingv1.NetworkPolicyPort{port(&udp, 53), port(&tcp, 53), port(&udp, 5353), port(&tcp, 5353)}}}}))
	}
	return all
}

// restriction describes the effect of a policy on connections to its servers.
type restriction struct {
	policy, client string
	way            string
	port           int
	denied         bool
	// service is true if it is also tested through the Service.
	service bool
}

// restrictions are those of the ingress policies.
var restrictions = []restriction{
	{denyIngress, plainClient, netprobe.TCP, serverPort, true, true},
	{denyIngress, plainClient, netprobe.UDP, serverPort, true, false},
	{allowLabelled, labelledClient, netprobe.TCP, serverPort, false, true},
	{allowLabelled, labelledClient, netprobe.UDP, serverPort, false, false},
	{allowLabelled, plainClient, netprobe.TCP, serverPort, true, true},
	{allowPort, plainClient, netprobe.TCP, serverPort, false, true},
	{allowPort, plainClient, netprobe.TCP, otherPort, true, true},
	{allowPort, plainClient, netprobe.UDP, serverPort, true, false},
}

// clients are the names of pods in the names of scenarios.
var clients = map[string]string{plainClient: "pod", labelledClient: "labelled pod", allowDNS: "pod with " + allowDNS}

// policyScenarios returns all scenarios with policies between places. servers are by policy, t are the targets that no policy protects.
func policyScenarios(places []place, servers map[string]guarded, t target, egress bool) []scenario {
	var all []scenario
	add := func(s scenario, policy string) {
		s.ID, s.kind, s.Patient = "policy-"+strconv.Itoa(len(all)), decided, true
		verb := "allows"
		switch {
		case s.Denied:
			verb = "denies"
		case s.onHost:
			verb = "does not restrict"
		}
		s.because = fmt.Sprintf("NetworkPolicy %s %s it", policy, verb)
		s.name = fmt.Sprintf("%s, which NetworkPolicy %s %s", s.name, policy, verb)
		all = append(all, s)
	}
	for _, from := range places {
		ingressScenarios(from, places, servers, add)
		ownNodeScenarios(from, servers, add)
		if egress {
			egressScenarios(from, places, t, func(s scenario) { add(s, allowDNS) })
		}
	}
	return all
}

// tried returns a scenario from a pod.
func tried(client string, from place, to, address, way string, port int, denied bool) scenario {
	p := probe(way, address, port, 0)
	p.Denied = denied
	return scenario{name: fmt.Sprintf("%s on %s -> %s (%s, %s port %d)", clients[client], from.node, to, family(address), wayName(way), port), from: from.node, client: client, Probe: p}
}

func ingressScenarios(from place, places []place, servers map[string]guarded, add func(scenario, string)) {
	for _, r := range restrictions {
		for _, to := range places {
			for _, address := range sameFamily(servers[r.policy].pods[to.node], from.pod) {
				s := tried(r.client, from, "pod on "+to.node, address, r.way, r.port, r.denied)
				s.to = to.node
				add(s, r.policy)
			}
		}
		if !r.service {
			continue
		}
		for _, address := range sameFamily(servers[r.policy].service, from.pod) {
			add(tried(r.client, from, "service", address, r.way, r.port, r.denied), r.policy)
		}
	}
}

// ownNodeScenarios adds scenarios that verify that the servers work: policies never restrict traffic from the pod's own node.
func ownNodeScenarios(on place, servers map[string]guarded, add func(scenario, string)) {
	if !on.served {
		return
	}
	for _, r := range []struct {
		policy string
		port   int
	}{{denyIngress, serverPort}, {allowLabelled, serverPort}, {allowPort, otherPort}} {
		for _, address := range servers[r.policy].pods[on.node] {
			add(scenario{name: fmt.Sprintf("host %s -> its own pod (%s, TCP port %d)", on.node, family(address), r.port), from: on.node, to: on.node, onHost: true,
				Probe: probe(netprobe.TCP, address, r.port, 0)}, r.policy)
		}
	}
}

// egressScenarios adds scenarios from pods that may only use DNS to servers that no policy protects.
func egressScenarios(from place, places []place, t target, add func(scenario)) {
	for _, to := range places {
		for _, address := range sameFamily(to.pod, from.pod) {
			for _, way := range []string{netprobe.TCP, netprobe.UDP} {
				s := tried(allowDNS, from, "pod on "+to.node, address, way, serverPort, true)
				s.to = to.node
				add(s)
			}
		}
	}
	for _, address := range sameFamily(t.service, from.pod) {
		add(tried(allowDNS, from, "service", address, netprobe.TCP, serverPort, true))
	}
	for _, address := range sameFamily(t.api, from.pod) {
		add(tried(allowDNS, from, "API server by service", address, netprobe.Connect, t.apiPort, true))
	}
	if t.name != "" {
		add(scenario{name: fmt.Sprintf("%s on %s -> name of the API server", clients[allowDNS], from.node), from: from.node, client: allowDNS,
			Probe: probe(netprobe.Name, "kubernetes.default.svc", 0, 0)})
	}
}

package connectivity

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deciding is the expected run time of pods that test policies: a policy takes a moment to become effective, and dropped packets cause timeouts.
const deciding = 20 * time.Second

// tryPolicies creates NetworkPolicies, servers that they select, and pods that test them. It runs after all other scenarios, which require
// a namespace without policies.
func (s *fixture) tryPolicies(ctx context.Context, places []place, t target) (trial, error) {
	if s.enforces.unenforced != "" {
		return trial{notes: []string{"scenarios with NetworkPolicies are skipped: " + s.enforces.unenforced}}, nil
	}
	var all trial
	if !s.enforces.egress {
		all.notes = append(all.notes, "scenarios with NetworkPolicies for egress are skipped: the network does not enforce them")
	}
	s.logf("starting pods with NetworkPolicies on %d nodes", len(places))
	for _, p := range policies(s.enforces.egress) {
		switch _, err := s.api.NetworkingV1.NetworkPolicies(s.namespace).Create(ctx, p, metav1.CreateOptions{}); {
		case apierrors.IsForbidden(err):
			return trial{notes: []string{fmt.Sprintf("scenarios with NetworkPolicies are skipped: %v", err)}}, nil
		case err != nil:
			return trial{}, fmt.Errorf("create NetworkPolicy %s: %w", p.Name, err)
		}
	}
	servers, notes, err := s.guardedServers(ctx, places)
	if err != nil {
		return trial{}, err
	}
	all.notes, all.scenarios = append(all.notes, notes...), policyScenarios(places, servers, t, s.enforces.egress)
	s.logf("trying %d scenarios with NetworkPolicies", len(all.scenarios))
	return s.decide(ctx, all)
}

// decide tests the scenarios of a trial.
func (s *fixture) decide(ctx context.Context, all trial) (trial, error) {
	patient := *s
	patient.working = deciding
	results, notes, err := patient.tryAll(ctx, all.scenarios)
	all.results, all.notes = results, append(all.notes, notes...)
	return all, err
}

// guardedServers starts a server on each node and creates a Service for each ingress policy.
func (s *fixture) guardedServers(ctx context.Context, places []place) (map[string]guarded, []string, error) {
	servers := map[string]guarded{}
	var wanted []*corev1.Pod
	for _, policy := range []string{denyIngress, allowLabelled, allowPort} {
		service, err := s.service(ctx, policy, corev1.ServiceTypeClusterIP, servicePorts)
		if err != nil {
			return nil, nil, err
		}
		servers[policy] = guarded{pods: map[string][]string{}, service: service.Spec.ClusterIPs}
		for _, p := range places {
			pod := s.server(policy, p.node, serverPort)
			if policy == allowPort {
				second := s.server(policy, p.node, otherPort).Spec.Containers[0]
				second.Name = "other"
				pod.Spec.Containers = append(pod.Spec.Containers, second)
			}
			wanted = append(wanted, pod)
		}
	}
	pods, err := s.start(ctx, wanted, serving)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	for i, pod := range pods {
		policy, node := wanted[i].Labels["app"], wanted[i].Spec.NodeName
		if pod == nil {
			notes = append(notes, fmt.Sprintf("no pod that NetworkPolicy %s selects can be started on %s", policy, node))
			continue
		}
		servers[policy].pods[node] = addressesOf(pod)
	}
	return servers, notes, nil
}

// server returns a pod on the pod network that serves a port.
func (s *fixture) server(name, node string, port int) *corev1.Pod {
	return s.pod(name, node, false, []string{"reach-server", "--listen", ":" + strconv.Itoa(port)})
}

// tryIsolation creates a second namespace with servers. It tests from each namespace the servers of the other one, and from the second its
// own servers, which must be reachable.
func (s *fixture) tryIsolation(ctx context.Context, places []place, t target) (trial, error) {
	if s.enforces.isolation == "" {
		return trial{}, nil
	}
	s.logf("starting pods in a second namespace on %d nodes", len(places))
	var err error
	if s.second, err = s.newNamespace(ctx); err != nil {
		return trial{}, err
	}
	other := *s
	other.namespace = s.second
	if err := other.copyPullSecret(ctx); err != nil {
		return trial{}, err
	}
	far, err := other.service(ctx, "server", corev1.ServiceTypeNodePort, servicePorts[:2])
	if err != nil {
		return trial{}, err
	}
	var wanted []*corev1.Pod
	for _, p := range places {
		wanted = append(wanted, other.server("server", p.node, serverPort))
	}
	pods, err := other.start(ctx, wanted, serving)
	if err != nil {
		return trial{}, err
	}
	var all trial
	second := make([]place, len(places))
	for i, p := range places {
		second[i] = place{node: p.node, host: p.host}
		if pods[i] == nil {
			all.notes = append(all.notes, fmt.Sprintf("no pod of a second namespace can be started on %s", p.node))
			continue
		}
		second[i].pod = addressesOf(pods[i])
	}
	farTarget := target{service: far.Spec.ClusterIPs, nodePort: int(far.Spec.Ports[0].NodePort)}
	first := isolationScenarios("first", "second", places, second, farTarget, s.enforces.isolation)
	back := append(isolationScenarios("second", "first", second, places, t, s.enforces.isolation), ownScenarios("second", second, farTarget)...)
	s.logf("trying %d scenarios between two namespaces", len(first)+len(back))
	all.scenarios = first
	if all, err = s.decide(ctx, all); err != nil {
		return trial{}, err
	}
	more, err := other.decide(ctx, trial{scenarios: back})
	return all.with(more), err
}

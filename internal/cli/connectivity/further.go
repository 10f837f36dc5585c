package connectivity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// namespaceOf parses --network.
func namespaceOf(text string) (string, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", fmt.Errorf("--network %q is not namespace/name of a NetworkAttachmentDefinition", text)
	}
	return namespace, nil
}

// testFurther tests pods on a further network. They are in the namespace of the network, since only its pods may use it, and are deleted by
// their label.
func (s *fixture) testFurther(ctx context.Context, names []string, network string) (Report, error) {
	namespace, err := namespaceOf(network)
	if err != nil {
		return Report{}, err
	}
	places, err := s.places(ctx, names)
	if err != nil {
		return Report{}, err
	}
	if err := s.findImage(ctx); err != nil {
		return Report{}, err
	}
	s.namespace, s.run, s.network = namespace, rand.String(8), network
	s.logf("starting pods with network %s on %d nodes", network, len(places))
	var wanted []*corev1.Pod
	for _, p := range places {
		wanted = append(wanted, s.pod("server", p.node, false, []string{"reach-server", "--listen", ":" + strconv.Itoa(serverPort)}))
	}
	pods, err := s.start(ctx, wanted, func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil && len(addressesOn(p, network)) > 0
	})
	if err != nil {
		return Report{}, err
	}
	var notes []string
	started := 0
	for i, pod := range pods {
		if pod == nil {
			notes = append(notes, fmt.Sprintf("no pod gets the network on %s: %s", places[i].node, s.failureReason(ctx, places[i].node)))
			continue
		}
		places[i].pod = addressesOn(pod, network)
		started++
	}
	if started == 0 {
		return Report{}, fmt.Errorf("no pod gets the network %s: %s", network, strings.Join(notes, "; "))
	}
	all := furtherScenarios(places, network)
	s.logf("trying %d scenarios", len(all))
	results, more, err := s.tryAll(ctx, all)
	if err != nil {
		return Report{}, err
	}
	report := newReport(all, results, append(notes, more...))
	report.Hops = furtherHops(all, results, network)
	return report, nil
}

// addressesOn returns the addresses of a pod on a network according to its status.
func addressesOn(p *corev1.Pod, network string) (addresses []string) {
	var entries []struct {
		Name string
		IPs  []string
	}
	if json.Unmarshal([]byte(p.Annotations[wire.AnnotationStatus]), &entries) != nil {
		return nil
	}
	for _, e := range entries {
		if e.Name == network {
			addresses = append(addresses, e.IPs...)
		}
	}
	return addresses
}

// failureReason returns the last warning about the pods of the test on a node.
func (s *fixture) failureReason(ctx context.Context, node string) string {
	unknown := "the kubelet of the node does not respond, or the network assigns no address"
	pods, err := s.api.CoreV1.Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: s.selector()})
	if err != nil {
		return unknown
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName != node {
			continue
		}
		events, err := s.api.CoreV1.Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + p.Name})
		if err != nil {
			return unknown
		}
		// The event of the daemon is preferred to that of the runtime, which wraps it.
		for _, own := range []bool{true, false} {
			for _, e := range slices.Backward(events.Items) {
				if e.Type == corev1.EventTypeWarning && (e.ReportingController == "multus") == own {
					return fmt.Sprintf("%s: %s", e.Reason, e.Message)
				}
			}
		}
	}
	return unknown
}

// furtherScenarios returns the scenarios of pods on a further network, which must reach each other on the same and on other nodes.
func furtherScenarios(places []place, network string) []scenario {
	var all []scenario
	for _, from := range places {
		if len(from.pod) == 0 {
			continue
		}
		for _, to := range places {
			for _, address := range sameFamily(to.pod, from.pod) {
				for _, way := range ways {
					all = append(all, scenario{
						name: fmt.Sprintf("pod on %s -> pod on %s over %s (%s, %s)", from.node, to.node, network, family(address), way.name),
						kind: podPod, from: from.node, to: to.node, Probe: probe(way.way, address, serverPort, way.size),
					})
					last := &all[len(all)-1]
					last.ID = strconv.Itoa(len(all) - 1)
				}
			}
		}
	}
	return all
}

// pathFailures counts the failures between two places.
type pathFailures struct{ failed, tried, full, fullTried int }

// furtherHops returns the failing hop for each pair of places whose pods cannot reach one another on a further network.
func furtherHops(all []scenario, results map[string]netprobe.Result, network string) []string {
	type pair struct{ from, to string }
	paths := map[pair]*pathFailures{}
	var order []pair
	for _, s := range all {
		r, tried := results[s.ID]
		if !tried {
			continue
		}
		p := pair{s.from, s.to}
		if paths[p] == nil {
			paths[p] = &pathFailures{}
			order = append(order, p)
		}
		path := paths[p]
		path.tried++
		failed := r.Error != ""
		if failed {
			path.failed++
		}
		if s.Size == netprobe.Full {
			path.fullTried++
			if failed {
				path.full++
			}
		}
	}
	hops := []string{}
	for _, p := range order {
		path := paths[p]
		local := func(node string) bool { own := paths[pair{node, node}]; return own != nil && own.failed > 0 }
		switch {
		case path.failed == 0:
		case path.full == path.failed:
			hops = append(hops, fmt.Sprintf("pod on %s -> pod on %s over %s: packets of the full MTU do not pass; compare the MTU of the interfaces of both nodes, and of what is between them", p.from, p.to, network))
		case p.from == p.to:
			hops = append(hops, fmt.Sprintf("pod -> pod on %s over %s: the node does not pass packets between pods: the mode of its macvlan, its bridge, or a MultiNetworkPolicy", p.from, network))
		case local(p.from):
			hops = append(hops, fmt.Sprintf("pod -> own node on %s, before %s, over %s: pods of that node do not reach one another either", p.from, p.to, network))
		case local(p.to):
			hops = append(hops, fmt.Sprintf("node %s -> its pod, after %s, over %s: pods of that node do not reach one another either", p.to, p.from, network))
		case path.failed == path.tried:
			hops = append(hops, fmt.Sprintf("node %s -> node %s over %s: pods reach only pods of their own node: check the interface that the network uses there, the link, its VLAN, and whether the switch accepts several MAC addresses on a port", p.from, p.to, network))
		default:
			hops = append(hops, fmt.Sprintf("pod on %s -> pod on %s over %s: not everything passes: a MultiNetworkPolicy, or a firewall between the nodes", p.from, p.to, network))
		}
	}
	slices.Sort(hops)
	return slices.Compact(hops)
}

// selector returns the label selector of the pods of this test; all pods if the namespace belongs to the test.
func (s *fixture) selector() string {
	if s.run == "" {
		return ""
	}
	return label + "=" + s.run
}

// cleanUpPods deletes the pods of a test on a further network, whose namespace does not belong to the test.
func (s *fixture) cleanUpPods(ctx context.Context) error {
	now := int64(0)
	pods := s.api.CoreV1.Pods(s.namespace)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: s.selector()}); err != nil {
		return fmt.Errorf("delete the pods of the test in namespace %s (label %s): %w", s.namespace, s.selector(), err)
	}
	return nil
}

var errNetworkAndExternal = errors.New("--external is not for --network: pods reach hosts outside of the cluster over the pod network")

package connectivity

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/netprobe"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/typedclient"
)

const (
	// mostPlaces is the default number of nodes of a test.
	mostPlaces = 3
	// every is the interval at which pods are read.
	every = 250 * time.Millisecond
	// label is set on the namespaces of tests, so that a test finds the leftovers of a killed one.
	label = "networkoperator.openshift.io/connectivity-test"
)

// fixture has the objects of a test in a cluster.
type fixture struct {
	api                       *typedclient.Clients
	operator, image, external string
	pull                      corev1.PullPolicy
	pullSecrets               []corev1.LocalObjectReference
	logf                      func(format string, args ...any)
	// namespace is that of the test; empty until it is created.
	namespace string
	// second is the namespace from which that of the test is isolated, if the network isolates namespaces; empty until it is created.
	second string
	// enforces is the expected enforcement of the network.
	enforces enforcement
	// network is the further network that pods request, as namespace/name, and run the value of their label; empty for tests of the pod network.
	network, run string
	// working is the expected run time of started pods.
	working time.Duration
	// limit is the time limit of the test, on which those of starting and cleaning depend.
	limit time.Duration
}

// starting is the time that pods may take to start: a sixth of the test's, at least 20 seconds.
func (s *fixture) starting() time.Duration { return max(20*time.Second, s.limit/6) }

// cleaning is the time limit of the clean-up: a quarter of the test's, at least 30 seconds.
func (s *fixture) cleaning() time.Duration { return max(30*time.Second, s.limit/4) }

// test creates the objects, runs all scenarios, and returns the report.
func (s *fixture) test(ctx context.Context, names []string) (Report, error) {
	places, err := s.places(ctx, names)
	if err != nil {
		return Report{}, err
	}
	if err := s.findImage(ctx); err != nil {
		return Report{}, err
	}
	if err := s.open(ctx); err != nil {
		return Report{}, err
	}
	s.logf("starting pods on %d nodes", len(places))
	services, err := s.services(ctx)
	if err != nil {
		return Report{}, err
	}
	notes, err := s.servers(ctx, places)
	if err != nil {
		return Report{}, err
	}
	all := scenarios(places, services)
	s.logf("trying %d scenarios", len(all))
	results, more, err := s.tryAll(ctx, all)
	if err != nil {
		return Report{}, err
	}
	done := trial{all, results, append(notes, more...)}
	for _, part := range []func(context.Context, []place, target) (trial, error){s.tryPolicies, s.tryIsolation} {
		t, err := part(ctx, restricted(places, len(names) > 0), services)
		if err != nil {
			return Report{}, err
		}
		done = done.with(t)
	}
	return newReport(done.scenarios, done.results, done.notes), nil
}

// trial is a part of a test: scenarios, their results by ID, and sentences about scenarios that could not be tested.
type trial struct {
	scenarios []scenario
	results   map[string]netprobe.Result
	notes     []string
}

// newReport returns the report of scenarios and their results. A scenario without a result could not be tested.
func newReport(all []scenario, results map[string]netprobe.Result, notes []string) Report {
	r := Report{Scenarios: []Outcome{}, Hops: []string{}, Notes: append([]string{}, notes...)}
	failed := map[string]bool{}
	for _, s := range all {
		res, tried := results[s.ID]
		if !tried {
			continue
		}
		problem := s.problem(res)
		if failed[s.ID] = problem != ""; failed[s.ID] {
			r.Failed++
		} else {
			r.Passed++
		}
		r.Scenarios = append(r.Scenarios, Outcome{s.name, problem == "", problem, res.Milliseconds})
	}
	tried := slices.DeleteFunc(slices.Clone(all), func(s scenario) bool { _, ok := results[s.ID]; return !ok })
	r.Hops = append(r.Hops, hops(tried, failed)...)
	slices.SortStableFunc(r.Scenarios, func(a, b Outcome) int {
		switch {
		case a.OK == b.OK:
			return 0
		case b.OK:
			return -1
		default:
			return 1
		}
	})
	return r
}

// places chooses nodes: the named ones, or up to three, at least one of them ready and the others preferably not ready.
func (s *fixture) places(ctx context.Context, names []string) ([]place, error) {
	list, err := s.api.CoreV1.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var ready, notReady []corev1.Node
	for _, n := range list.Items {
		switch {
		case len(names) > 0 && !slices.Contains(names, n.Name):
		case status.NodeReady(&n):
			ready = append(ready, n)
		default:
			notReady = append(notReady, n)
		}
	}
	if len(ready) == 0 {
		return nil, errors.New("no node is ready, so that no pod can run a test; cno doctor shows why")
	}
	if found := len(ready) + len(notReady); len(names) > 0 && found < len(names) {
		return nil, fmt.Errorf("of the %d nodes that are named, there are %d", len(names), found)
	}
	chosen := slices.Concat(ready, notReady)
	if len(names) == 0 && len(chosen) > mostPlaces {
		notReady = notReady[:min(len(notReady), mostPlaces-1)]
		chosen = slices.Concat(ready[:mostPlaces-len(notReady)], notReady)
	}
	places := make([]place, len(chosen))
	for i, n := range chosen {
		places[i] = place{node: n.Name}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				places[i].host = append(places[i].host, a.Address)
			}
		}
	}
	return places, nil
}

// findImage sets the image to that of the operator, which nodes can pull.
func (s *fixture) findImage(ctx context.Context) error {
	s.pull = corev1.PullIfNotPresent
	if s.image != "" {
		return nil
	}
	d, err := s.api.AppsV1.Deployments(s.operator).Get(ctx, status.OperatorDeployment, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("find the operator's image (or give --image): %w", err)
	}
	s.image = d.Spec.Template.Spec.Containers[0].Image
	return nil
}

// open removes the leftovers of earlier tests and creates the namespace.
func (s *fixture) open(ctx context.Context) error {
	spaces := s.api.CoreV1.Namespaces()
	old, err := spaces.List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return fmt.Errorf("look for earlier tests: %w", err)
	}
	for _, ns := range old.Items {
		if time.Since(ns.CreationTimestamp.Time) > 5*time.Minute {
			_ = spaces.Delete(ctx, ns.Name, metav1.DeleteOptions{}) // the next test retries
		}
	}
	s.namespace, err = s.newNamespace(ctx)
	if err != nil {
		return err
	}
	return s.copyPullSecret(ctx)
}

// newNamespace creates a namespace for pods of the test.
func (s *fixture) newNamespace(ctx context.Context) (string, error) {
	made, err := s.api.CoreV1.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cno-connectivity-", Labels: map[string]string{
		label: "true", "pod-security.kubernetes.io/enforce": "privileged", "pod-security.kubernetes.io/warn": "privileged", "pod-security.kubernetes.io/audit": "privileged",
	}}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return made.Name, nil
}

// copyPullSecret copies the operator's pull secret into the namespace of the test, if there is one and the user may read it: nodes that
// do not have the image pull it from the same registry.
func (s *fixture) copyPullSecret(ctx context.Context) error {
	found, err := s.api.CoreV1.Secrets(s.operator).Get(ctx, facts.PullSecretName, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("read the pull secret: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: found.Name}, Type: found.Type, Data: found.Data}
	if _, err := s.api.CoreV1.Secrets(s.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("copy the pull secret: %w", err)
	}
	s.pullSecrets = []corev1.LocalObjectReference{{Name: found.Name}}
	return nil
}

// cleanUp deletes the namespaces with their content and waits until they are deleted.
func (s *fixture) cleanUp(ctx context.Context) error {
	if s.namespace == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cleaning())
	defer cancel()
	if s.run != "" {
		return s.cleanUpPods(ctx)
	}
	var errs []error
	var all []string
	for _, ns := range []string{s.namespace, s.second} {
		if ns == "" {
			continue
		}
		if err := s.remove(ctx, ns); err != nil {
			errs = append(errs, err)
		} else {
			all = append(all, ns)
		}
	}
	for _, ns := range all {
		errs = append(errs, s.removed(ctx, ns))
	}
	return errors.Join(errs...)
}

// remove deletes a namespace and its pods.
func (s *fixture) remove(ctx context.Context, namespace string) error {
	if err := s.api.CoreV1.Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", namespace, err)
	}
	// Pods on unreachable nodes would block it.
	now := int64(0)
	_ = s.api.CoreV1.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}) // the namespace's own deletion continues anyway
	return nil
}

// removed waits until a namespace is deleted.
func (s *fixture) removed(ctx context.Context, namespace string) error {
	for {
		if _, err := s.api.CoreV1.Namespaces().Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("namespace %s is being deleted and still exists", namespace)
		case <-time.After(every):
		}
	}
}

// services creates the Service and reads the existing ones.
func (s *fixture) services(ctx context.Context) (target, error) {
	var t target
	made, err := s.service(ctx, "server", corev1.ServiceTypeNodePort, servicePorts[:2])
	if err != nil {
		return t, err
	}
	t.service, t.nodePort = made.Spec.ClusterIPs, int(made.Spec.Ports[0].NodePort)
	if s.dns(ctx) {
		t.name = "server." + s.namespace + ".svc"
	}
	kubernetes, err := s.api.CoreV1.Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	if err == nil {
		t.api, t.apiPort = kubernetes.Spec.ClusterIPs, int(kubernetes.Spec.Ports[0].Port)
	} else if !apierrors.IsNotFound(err) {
		return t, fmt.Errorf("read service kubernetes: %w", err)
	}
	if s.external != "" {
		if t.external, t.externalPort, err = outside(s.external); err != nil {
			return t, err
		}
	}
	return t, nil
}

// servicePorts are the ports of services of the test. The third is that of servers with a port that a policy does not name.
var servicePorts = []corev1.ServicePort{
	{Name: "tcp", Port: serverPort, Protocol: corev1.ProtocolTCP}, {Name: "udp", Port: serverPort, Protocol: corev1.ProtocolUDP},
	{Name: "other", Port: otherPort, Protocol: corev1.ProtocolTCP},
}

// service creates a Service for the pods of a name in every IP family of the cluster.
func (s *fixture) service(ctx context.Context, name string, kind corev1.ServiceType, ports []corev1.ServicePort) (*corev1.Service, error) {
	made, err := s.api.CoreV1.Services(s.namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: kind, Selector: map[string]string{"app": name}, IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack), Ports: ports,
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create service %s: %w", name, err)
	}
	return made, nil
}

// outside parses --external.
func outside(external string) (host string, port int, err error) {
	host, number, err := net.SplitHostPort(external)
	if err != nil {
		return "", 0, fmt.Errorf("--external %q is not host:port: %w", external, err)
	}
	at, err := strconv.ParseUint(number, 10, 16)
	if err != nil || at == 0 || host == "" {
		return "", 0, fmt.Errorf("--external %q is not host:port: a host and a port of 1 to 65535 are needed, e.g. example.org:443 or [2001:db8::7]:443", external)
	}
	return host, int(at), nil
}

// dns reports whether the cluster has a DNS Service: without one, no names are resolved.
func (s *fixture) dns(ctx context.Context) bool {
	for _, place := range [][2]string{{"kube-system", "kube-dns"}, {"openshift-dns", "dns-default"}} {
		if _, err := s.api.CoreV1.Services(place[0]).Get(ctx, place[1], metav1.GetOptions{}); err == nil {
			return true
		}
	}
	return false
}

// servers starts a server on the host and one on the pod network of each node, and records their addresses.
func (s *fixture) servers(ctx context.Context, places []place) ([]string, error) {
	var wanted []*corev1.Pod
	for i := range places {
		args := []string{"reach-server", "--listen", ":" + strconv.Itoa(serverPort)}
		pod := s.pod("server", places[i].node, false, args)
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: serverPort, HostPort: hostPort, Protocol: corev1.ProtocolTCP}}
		wanted = append(wanted, pod, s.pod("host-server", places[i].node, true, args))
	}
	pods, err := s.start(ctx, wanted, serving)
	if err != nil {
		return nil, err
	}
	var notes []string
	started := 0
	for i := range places {
		pod, host := pods[2*i], pods[2*i+1]
		if pod != nil {
			places[i].pod = addressesOf(pod)
			started++
		} else {
			notes = append(notes, fmt.Sprintf("no pod can be started on the pod network of %s: its kubelet or its agent does not answer", places[i].node))
		}
		places[i].served = host != nil
	}
	if started == 0 {
		return nil, errors.New("no pod can be started on any node; cno doctor shows why")
	}
	return notes, nil
}

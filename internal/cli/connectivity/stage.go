package connectivity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/netprobe"
)

const (
	// mostPlaces is on how many nodes pods are made, unless nodes are named.
	mostPlaces = 3
	// starting is how long pods may take to start, and every how often they are looked at.
	starting = 20 * time.Second
	every    = 250 * time.Millisecond
	// cleaning is how long the clean-up may take.
	cleaning = 30 * time.Second
	// label is on the namespaces of tests, so that what a killed test has left is found by the next.
	label = "networkoperator.openshift.io/connectivity-test"
)

// stage is where a test takes place.
type stage struct {
	api                       kubernetes.Interface
	operator, image, external string
	pull                      corev1.PullPolicy
	pullSecrets               []corev1.LocalObjectReference
	say                       func(format string, args ...any)
	// namespace is that of the test; empty until it is made.
	namespace string
	// working is how long pods work once they have started; 0 is next to nothing.
	working time.Duration
}

// test makes everything, tries everything, and says what became of it.
func (s *stage) test(ctx context.Context, names []string) (Report, error) {
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
	s.say("starting pods on %d nodes", len(places))
	services, err := s.services(ctx)
	if err != nil {
		return Report{}, err
	}
	notes, err := s.servers(ctx, places)
	if err != nil {
		return Report{}, err
	}
	all := scenarios(places, services)
	s.say("trying %d scenarios", len(all))
	results, more, err := s.tryAll(ctx, places, all)
	if err != nil {
		return Report{}, err
	}
	return judge(all, results, append(notes, more...)), nil
}

// judge puts results and scenarios together. A scenario without a result could not be tried.
func judge(all []scenario, results map[string]netprobe.Result, notes []string) Report {
	r := Report{Scenarios: []Outcome{}, Hops: []string{}, Notes: append([]string{}, notes...)}
	failed := map[string]bool{}
	for _, s := range all {
		res, tried := results[s.ID]
		if !tried {
			continue
		}
		if failed[s.ID] = res.Error != ""; failed[s.ID] {
			r.Failed++
		} else {
			r.Passed++
		}
		r.Scenarios = append(r.Scenarios, Outcome{s.name, res.Error == "", res.Error, res.Milliseconds})
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

// places chooses nodes: those that are named, or up to three, one of them ready, the others not if there are such.
func (s *stage) places(ctx context.Context, names []string) ([]place, error) {
	list, err := s.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var ready, ill []corev1.Node
	for _, n := range list.Items {
		switch {
		case len(names) > 0 && !slices.Contains(names, n.Name):
		case isReady(n):
			ready = append(ready, n)
		default:
			ill = append(ill, n)
		}
	}
	if len(ready) == 0 {
		return nil, errors.New("no node is ready, so that no pod can run a test; cno doctor shows why")
	}
	if found := len(ready) + len(ill); len(names) > 0 && found < len(names) {
		return nil, fmt.Errorf("of the %d nodes that are named, there are %d", len(names), found)
	}
	chosen := slices.Concat(ready, ill)
	if len(names) == 0 && len(chosen) > mostPlaces {
		ill = ill[:min(len(ill), mostPlaces-1)]
		chosen = slices.Concat(ready[:mostPlaces-len(ill)], ill)
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

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// findImage takes the image that the operator itself runs with: where one is, the other can be got.
func (s *stage) findImage(ctx context.Context) error {
	s.pull = corev1.PullIfNotPresent
	if s.image != "" {
		return nil
	}
	d, err := s.api.AppsV1().Deployments(s.operator).Get(ctx, "network-operator", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("find the operator's image (or give --image): %w", err)
	}
	s.image = d.Spec.Template.Spec.Containers[0].Image
	return nil
}

// open removes what an earlier test has left, and makes the namespace.
func (s *stage) open(ctx context.Context) error {
	spaces := s.api.CoreV1().Namespaces()
	old, err := spaces.List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return fmt.Errorf("look for earlier tests: %w", err)
	}
	for _, ns := range old.Items {
		if time.Since(ns.CreationTimestamp.Time) > 5*time.Minute {
			_ = spaces.Delete(ctx, ns.Name, metav1.DeleteOptions{}) // it is tried again next time
		}
	}
	made, err := spaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cno-connectivity-", Labels: map[string]string{
		label: "true", "pod-security.kubernetes.io/enforce": "privileged", "pod-security.kubernetes.io/warn": "privileged", "pod-security.kubernetes.io/audit": "privileged",
	}}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	s.namespace = made.Name
	return s.copyPullSecret(ctx)
}

// copyPullSecret copies the operator's pull secret into the namespace of the test, if there is one and the user may read it: nodes that
// do not have the image pull it from the same registry.
func (s *stage) copyPullSecret(ctx context.Context) error {
	found, err := s.api.CoreV1().Secrets(s.operator).Get(ctx, facts.PullSecretName, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("read the pull secret: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: found.Name}, Type: found.Type, Data: found.Data}
	if _, err := s.api.CoreV1().Secrets(s.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("copy the pull secret: %w", err)
	}
	s.pullSecrets = []corev1.LocalObjectReference{{Name: found.Name}}
	return nil
}

// cleanUp deletes the namespace with all that is in it, and waits until it is gone.
func (s *stage) cleanUp(ctx context.Context) error {
	if s.namespace == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cleaning)
	defer cancel()
	spaces := s.api.CoreV1().Namespaces()
	if err := spaces.Delete(ctx, s.namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", s.namespace, err)
	}
	// Pods on nodes that do not answer would hold it up.
	now := int64(0)
	_ = s.api.CoreV1().Pods(s.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}) // the namespace's own deletion goes on anyway
	for {
		if _, err := spaces.Get(ctx, s.namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("namespace %s is being deleted, and not gone yet", s.namespace)
		case <-time.After(every):
		}
	}
}

// services makes the service, and reads those that there are.
func (s *stage) services(ctx context.Context) (target, error) {
	var t target
	dual := corev1.IPFamilyPolicyPreferDualStack
	port := func(name string, protocol corev1.Protocol) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: serverPort, Protocol: protocol}
	}
	made, err := s.api.CoreV1().Services(s.namespace).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "server"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "server"}, IPFamilyPolicy: &dual,
		Ports: []corev1.ServicePort{port("tcp", corev1.ProtocolTCP), port("udp", corev1.ProtocolUDP)},
	}}, metav1.CreateOptions{})
	if err != nil {
		return t, fmt.Errorf("create a service: %w", err)
	}
	t.service, t.nodePort = made.Spec.ClusterIPs, int(made.Spec.Ports[0].NodePort)
	if s.dns(ctx) {
		t.name = "server." + s.namespace + ".svc"
	}
	kubernetes, err := s.api.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
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

// outside reads what --external says.
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

// dns reports whether the cluster has a service for names: without one, nothing is looked up.
func (s *stage) dns(ctx context.Context) bool {
	for _, place := range [][2]string{{"kube-system", "kube-dns"}, {"openshift-dns", "dns-default"}} {
		if _, err := s.api.CoreV1().Services(place[0]).Get(ctx, place[1], metav1.GetOptions{}); err == nil {
			return true
		}
	}
	return false
}

// servers starts a server on the host and one on the pod network of each node, and notes their addresses.
func (s *stage) servers(ctx context.Context, places []place) ([]string, error) {
	var wanted []*corev1.Pod
	for i := range places {
		args := []string{"reach-server", "--listen", ":" + strconv.Itoa(serverPort)}
		pod := s.pod("server", places[i].node, false, args)
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: serverPort, HostPort: hostPort, Protocol: corev1.ProtocolTCP}}
		wanted = append(wanted, pod, s.pod("host-server", places[i].node, true, args))
	}
	pods, err := s.start(ctx, wanted, func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil && p.Status.PodIP != ""
	})
	if err != nil {
		return nil, err
	}
	var notes []string
	started := 0
	for i := range places {
		pod, host := pods[2*i], pods[2*i+1]
		if pod != nil {
			for _, ip := range pod.Status.PodIPs {
				places[i].pod = append(places[i].pod, ip.IP)
			}
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

// pod makes one that is bound to a node, without the scheduler.
func (s *stage) pod(name, node string, onHost bool, args []string) *corev1.Pod {
	now, yes, no, nobody := int64(0), true, false, int64(65534)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: name + "-", Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			ImagePullSecrets: s.pullSecrets,
			NodeName:         node, HostNetwork: onHost, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &now,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &nobody, RunAsGroup: &nobody, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "c", Image: s.image, ImagePullPolicy: s.pull, Args: args, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		},
	}
}

// start creates pods, and waits until each is as it should be. Those that are not in time are nil.
func (s *stage) start(ctx context.Context, wanted []*corev1.Pod, done func(*corev1.Pod) bool) ([]*corev1.Pod, error) {
	made := make([]*corev1.Pod, len(wanted))
	for i, p := range wanted {
		var err error
		if made[i], err = s.api.CoreV1().Pods(s.namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create a pod on %s: %w", p.Spec.NodeName, err)
		}
	}
	out := make([]*corev1.Pod, len(wanted))
	deadline := time.Now().Add(starting + s.working)
	for {
		list, err := s.api.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		missing := 0
		for i, p := range made {
			j := slices.IndexFunc(list.Items, func(l corev1.Pod) bool { return l.Name == p.Name })
			if j >= 0 && done(&list.Items[j]) {
				out[i] = &list.Items[j]
			} else {
				missing++
			}
		}
		if missing == 0 || time.Now().After(deadline) {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for pods: %w", ctx.Err())
		case <-time.After(every):
		}
	}
}

// tryAll starts a pod that tries for each place and network, and reads what they say.
func (s *stage) tryAll(ctx context.Context, places []place, all []scenario) (map[string]netprobe.Result, []string, error) {
	var wanted []*corev1.Pod
	for _, p := range places {
		for _, onHost := range []bool{false, true} {
			var probes []netprobe.Probe
			for _, sc := range all {
				if sc.from == p.node && sc.onHost == onHost {
					probes = append(probes, sc.Probe)
				}
			}
			if len(probes) == 0 {
				continue
			}
			raw, err := json.Marshal(probes)
			if err != nil {
				return nil, nil, err
			}
			wanted = append(wanted, s.pod("probe", p.node, onHost, []string{"reach-probe", string(raw)}))
		}
	}
	pods, err := s.start(ctx, wanted, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	if err != nil {
		return nil, nil, err
	}
	results, notes := map[string]netprobe.Result{}, []string(nil)
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, p := range pods {
		if p == nil {
			notes = append(notes, fmt.Sprintf("a pod on %s did not end in time: its kubelet does not answer, or everything it tries hangs", wanted[i].Spec.NodeName))
			continue
		}
		group.Go(func() {
			found, err := s.results(ctx, p.Name)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range found {
				results[r.ID] = r
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("what a pod on %s found cannot be read: %v", p.Spec.NodeName, err))
			}
		})
	}
	group.Wait()
	return results, notes, nil
}

func (s *stage) results(ctx context.Context, pod string) ([]netprobe.Result, error) {
	raw, err := s.api.CoreV1().Pods(s.namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var found []netprobe.Result
	return found, json.Unmarshal(raw, &found)
}

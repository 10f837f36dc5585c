package connectivity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// world is what an API server lacks for a test: kubelets, a network, and the controller that empties namespaces.
type world struct {
	api client.Client
	// ignored is a policy that the network does not enforce, closed one whose pods it isolates from everything. isolates is true if
	// it isolates namespaces.
	ignored, closed string
	isolates        bool

	mu   sync.Mutex
	next int
}

// newWorld makes two nodes, and runs their kubelets until the test ends.
func newWorld(t *testing.T) (*world, *rest.Config) {
	t.Helper()
	server := apitest.Shared(t)
	w := &world{api: server.Client}
	for i, name := range []string{"a", "b"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		server.Create(t, n)
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
		if err := server.Client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.kubelets(ctx)
			w.emptyNamespaces(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	config := rest.CopyConfig(server.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return logs{w, next} })
	return w, config
}

// kubelets run every pod at once. Errors are repaired by the next turn.
func (w *world) kubelets(ctx context.Context) {
	var pods corev1.PodList
	_ = w.api.List(ctx, &pods)
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.PodIP != "" || !strings.HasPrefix(p.Namespace, "cno-connectivity-") {
			continue
		}
		w.mu.Lock()
		w.next++
		p.Status.PodIP = fmt.Sprintf("10.0.%d.%d", w.next/250, 1+w.next%250)
		w.mu.Unlock()
		if p.Spec.HostNetwork {
			p.Status.PodIP = map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"}[p.Spec.NodeName]
		}
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		for _, c := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		}
		p.Status.Phase = corev1.PodRunning
		if p.Spec.Containers[0].Args[0] == "reach-probe" {
			p.Status.Phase = corev1.PodSucceeded
		}
		_ = w.api.Status().Update(ctx, p)
	}
}

// emptyNamespaces does what the namespace controller does.
func (w *world) emptyNamespaces(ctx context.Context) {
	var all corev1.NamespaceList
	_ = w.api.List(ctx, &all)
	for i := range all.Items {
		ns := &all.Items[i]
		if ns.DeletionTimestamp == nil || ns.Labels[label] == "" {
			continue
		}
		in := client.InNamespace(ns.Name)
		failed := errors.Join(w.api.DeleteAllOf(ctx, &corev1.Pod{}, in, client.GracePeriodSeconds(0)), w.api.DeleteAllOf(ctx, &corev1.Service{}, in),
			w.api.DeleteAllOf(ctx, &networkingv1.NetworkPolicy{}, in))
		if failed == nil {
			ns.Spec.Finalizers = nil
			_ = w.api.SubResource("finalize").Update(ctx, ns)
		}
	}
}

// logs answers requests for the logs of pods.
type logs struct {
	world *world
	next  http.RoundTripper
}

func (l logs) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) < 8 || parts[len(parts)-1] != "log" {
		return l.next.RoundTrip(r)
	}
	raw, err := l.world.log(r.Context(), client.ObjectKey{Namespace: parts[len(parts)-4], Name: parts[len(parts)-2]})
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(raw)), Header: http.Header{}, Request: r}, nil
}

// log is what a pod that tries has printed.
func (w *world) log(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	var from corev1.Pod
	if err := w.api.Get(ctx, key, &from); err != nil {
		return nil, err
	}
	var probes []netprobe.Probe
	if err := json.Unmarshal([]byte(from.Spec.Containers[0].Args[1]), &probes); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	var services corev1.ServiceList
	var policies networkingv1.NetworkPolicyList
	if err := errors.Join(w.api.List(ctx, &pods), w.api.List(ctx, &services), w.api.List(ctx, &policies)); err != nil {
		return nil, err
	}
	rules := w.rules(pods.Items, policies.Items)
	results := make([]netprobe.Result, 0, len(probes))
	for _, p := range probes {
		r := netprobe.Result{ID: p.ID}
		if !w.passes(rules, &from, pods.Items, services.Items, p) {
			r.Error = "i/o timeout"
		}
		results = append(results, r)
	}
	return json.Marshal(results)
}

// rules are what the network enforces.
func (w *world) rules(pods []corev1.Pod, policies []networkingv1.NetworkPolicy) netpolicy.Result {
	var in netpolicy.Input
	spaces := map[string]bool{}
	for _, p := range pods {
		spaces[p.Namespace] = true
		a, _ := netip.ParseAddr(p.Status.PodIP)
		in.Pods = append(in.Pods, netpolicy.Pod{ID: netpolicy.ID{Namespace: p.Namespace, Name: p.Name}, Labels: p.Labels, HostNetwork: p.Spec.HostNetwork, Addresses: []netip.Addr{a}})
	}
	for ns := range spaces {
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: ns})
	}
	for i := range policies {
		p := &policies[i]
		switch p.Name {
		case w.ignored:
			continue
		case w.closed:
			p.Spec.Ingress, p.Spec.Egress = nil, nil
		}
		in.Policies = append(in.Policies, p)
	}
	return netpolicy.Translate(in)
}

// passes reports whether a probe gets an answer.
func (w *world) passes(rules netpolicy.Result, from *corev1.Pod, pods []corev1.Pod, services []corev1.Service, p netprobe.Probe) bool {
	c := netpolicy.Connection{Protocol: corev1.Protocol(strings.ToUpper(wayName(p.Way))), Port: uint16(p.Port)}
	if p.Way == netprobe.Name {
		c.Protocol, c.Port, p.Host = corev1.ProtocolUDP, 53, "198.51.100.53"
	}
	namespace, host := "", p.Host
	for _, s := range services {
		port := slices.IndexFunc(s.Spec.Ports, func(port corev1.ServicePort) bool { return int(port.NodePort) == p.Port && p.Port > 0 })
		if !slices.Contains(s.Spec.ClusterIPs, p.Host) && p.Host != s.Name+"."+s.Namespace+".svc" && port < 0 {
			continue
		}
		namespace = s.Namespace
		if port >= 0 {
			c.Port = uint16(s.Spec.Ports[port].Port)
		}
		// The endpoint that answers is on any node.
		for _, e := range pods {
			if e.Namespace == s.Namespace && e.Labels["app"] == s.Spec.Selector["app"] && len(s.Spec.Selector) > 0 {
				host = e.Status.PodIP
			}
		}
	}
	c.To.Address, _ = netip.ParseAddr(host)
	for _, e := range pods {
		if e.Status.PodIP == host && !e.Spec.HostNetwork && e.Status.Phase == corev1.PodRunning {
			namespace, c.To.Pod = e.Namespace, netpolicy.ID{Namespace: e.Namespace, Name: e.Name}
		}
	}
	if from.Spec.HostNetwork {
		return true
	}
	if w.isolates && strings.HasPrefix(namespace, "cno-connectivity-") && namespace != from.Namespace {
		return false
	}
	c.From = netpolicy.End{Pod: netpolicy.ID{Namespace: from.Namespace, Name: from.Name}}
	return rules.Allowed(c).Allowed
}

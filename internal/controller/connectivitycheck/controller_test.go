package connectivitycheck

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{
		"podnetworkconnectivitychecks.controlplane.operator.openshift.io", "networks.config.openshift.io", "infrastructures.config.openshift.io"}})
}

// cluster is an API server with a cluster of three nodes, and the loop.
type cluster struct {
	*apitest.Server
	t     *testing.T
	board *report.Board
	// unreachable is what OnUnreachable was called with last.
	unreachable atomic.Pointer[map[string]string]
}

// start makes the objects that exist before the loop.
func start(t *testing.T) *cluster {
	t.Helper()
	w := &cluster{Server: apitest.Shared(t), t: t, board: &report.Board{}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: connectivity.Namespace}}
	if err := client.IgnoreAlreadyExists(w.Client.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	w.Create(t, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}})
	for i, name := range []string{"a", "b", "c"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		w.Create(t, node)
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := w.Client.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Client.DeleteAllOf(ctx, &check{}, client.InNamespace(connectivity.Namespace)); err != nil {
			t.Error(err)
		}
	})
	return w
}

// run runs the loop until the test ends.
func (w *cluster) run() {
	w.t.Helper()
	yes := true
	mgr, err := manager.New(w.Config, manager.Options{
		Scheme: w.Client.Scheme(), Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: cacheOptions()},
		Controller: config.Controller{SkipNameValidation: &yes}, Client: client.Options{Cache: &client.CacheOptions{}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	c := &Controller{
		Serves: func(gk schema.GroupKind) (bool, error) {
			_, err := mgr.GetRESTMapper().RESTMapping(gk)
			return err == nil, nil
		},
		Board: w.board, Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now, Log: slog.New(slog.DiscardHandler), Collect: 10 * time.Millisecond,
		OnUnreachable: func(nodes map[string]string) { w.unreachable.Store(&nodes) },
	}
	if err := c.setup(mgr); err != nil {
		w.t.Fatal(err)
	}
	if err := c.setupConfiguration(mgr); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

// slice makes the EndpointSlice of a service, with an endpoint on each node.
func (w *cluster) slice(service string, port int32, addresses map[string]string) *discoveryv1.EndpointSlice {
	w.t.Helper()
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, node := range []string{"a", "b", "c"} {
		if address, ok := addresses[node]; ok {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, NodeName: &node,
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: service + "-" + node}})
		}
	}
	w.Create(w.t, s)
	return s
}

// pods makes sources on a, b and c, targets on all of them, and the service of these.
func (w *cluster) pods() {
	w.slice(connectivity.SourceName, connectivity.MetricsPort, map[string]string{"a": "10.128.0.2", "b": "10.129.0.2", "c": "10.130.0.2"})
	w.slice(connectivity.TargetName, connectivity.TargetPort, map[string]string{"a": "10.128.0.3", "b": "10.129.0.3", "c": "10.130.0.3"})
	w.Create(w.t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: connectivity.TargetName},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.99", Ports: []corev1.ServicePort{{Port: 80}}}})
}

// checks returns what is checked, by name.
func (w *cluster) checks() map[string]string {
	w.t.Helper()
	var list operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList
	if err := w.Client.List(w.t.Context(), &list, client.InNamespace(connectivity.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range list.Items {
		found[c.Name] = c.Spec.SourcePod + " " + c.Spec.TargetEndpoint
	}
	return found
}

func (w *cluster) eventually(what string, holds func() bool) {
	w.t.Helper()
	eventually.IsOrShow(w.t, eventually.Limit, what, holds, func() string { return fmt.Sprintf("checks: %v\nfindings: %v", w.checks(), w.messages()) })
}

func (w *cluster) messages() []string {
	findings, _, _ := w.board.Snapshot()
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s aside=%v: %s", f.Reason, f.Aside, f.Message))
	}
	return all
}

// wantResult sets in all checks of a target whether it is reachable, as their sources would.
func (w *cluster) wantResult(target string, status metav1.ConditionStatus, since time.Time) {
	w.t.Helper()
	for name := range w.checks() {
		if !strings.HasSuffix(name, "-to-"+target) {
			continue
		}
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Reachable","status":%q,"message":"i/o timeout","lastTransitionTime":%q}]}}`, status, stamp(since))
		object := &check{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: name}}
		if err := w.Client.Status().Patch(w.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestChecksFollowTheClusterAndTheirResultsTheStatus(t *testing.T) {
	w := start(t)
	w.run()
	w.pods()
	// Three nodes from the two others each, the services and the API server from all three.
	w.eventually("everything is checked", func() bool { return len(w.checks()) == 3*2+3*3 })
	for name, want := range map[string]string{
		"network-check-source-a-to-network-check-target-b":               "network-check-source-a 10.129.0.3:8080",
		"network-check-source-c-to-network-check-target-service-cluster": "network-check-source-c 10.96.0.99:80",
		"network-check-source-b-to-kubernetes-default-service-cluster-0": "network-check-source-b 10.96.0.1:443",
	} {
		if got := w.checks()[name]; got != want {
			t.Errorf("%s checks %q, want %q", name, got, want)
		}
	}
	var one check
	w.get("network-check-source-a-to-network-check-target-b", &one)
	if o := one.OwnerReferences; len(o) != 1 || o[0].Kind != "Node" || o[0].Name != "a" || one.Labels[connectivity.SourceLabel] != "network-check-source-a" {
		t.Errorf("metadata is %+v", one.ObjectMeta)
	}

	long := time.Now().Add(-time.Hour)
	for _, target := range []string{"network-check-target-a", "network-check-target-b", "network-check-target-c"} {
		w.wantResult(target, metav1.ConditionTrue, long)
	}
	w.wantResult("network-check-target-b", metav1.ConditionFalse, time.Now())
	time.Sleep(200 * time.Millisecond)
	if len(w.messages()) > 0 {
		t.Errorf("one failing sample is reported as %v", w.messages())
	}
	w.wantResult("network-check-target-b", metav1.ConditionFalse, long)
	w.eventually("the node is named", func() bool {
		m := w.messages()
		return len(m) == 1 && strings.HasPrefix(m[0], "NodeUnreachable aside=false: Node b cannot be reached from pods on a and c since ")
	})
	if nodes := *w.unreachable.Load(); len(nodes) != 1 || !strings.HasPrefix(nodes["b"], "the node cannot be reached from pods on a and c since ") {
		t.Errorf("unreachable nodes are reported as %v", nodes)
	}
	w.wantResult("network-check-target-b", metav1.ConditionTrue, time.Now())
	w.eventually("and no longer", func() bool { return len(w.messages()) == 0 && len(*w.unreachable.Load()) == 0 })
}

func (w *cluster) get(name string, into *check) {
	w.t.Helper()
	if err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: connectivity.Namespace, Name: name}, into); err != nil {
		w.t.Fatal(err)
	}
}

func TestDownNodeIsNoNetworkProblem(t *testing.T) {
	w := start(t)
	w.run()
	w.pods()
	w.eventually("everything is checked", func() bool { return len(w.checks()) == 15 })
	for _, target := range []string{"network-check-target-a", "network-check-target-c"} {
		w.wantResult(target, metav1.ConditionTrue, time.Now())
	}
	w.wantResult("network-check-target-b", metav1.ConditionFalse, time.Now().Add(-time.Hour))
	w.eventually("the node is named", func() bool { return len(w.messages()) == 1 })
	var node corev1.Node
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "b"}, &node); err != nil {
		t.Fatal(err)
	}
	apitest.ChangeStatus(t, w.Client, &node, func() { node.Status.Conditions[0].Status = corev1.ConditionUnknown })
	w.eventually("only the component reports it", func() bool {
		m := w.messages()
		return len(m) == 1 && strings.HasPrefix(m[0], "NodeUnreachable aside=true: Node b, whose kubelet does not respond either, cannot")
	})
}

func TestConflictingObjectsAreRepaired(t *testing.T) {
	w := start(t)
	w.run()
	w.pods()
	w.eventually("everything is checked", func() bool { return len(w.checks()) == 15 })
	const one = "network-check-source-a-to-network-check-target-b"
	var c check
	w.get(one, &c)
	apitest.Change(t, w.Client, &c, func() { c.Spec.TargetEndpoint, c.Labels = "192.0.2.99:1", nil })
	w.eventually("a check that was changed is repaired", func() bool {
		w.get(one, &c)
		return c.Spec.TargetEndpoint == "10.129.0.3:8080" && c.Labels[connectivity.SourceLabel] != ""
	})
	if err := w.Client.Delete(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	w.eventually("a deleted one is recreated", func() bool { return w.checks()[one] != "" })
	foreign := c.DeepCopy()
	foreign.ObjectMeta = metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: "network-check-source-gone-to-network-check-target-b"}
	own := foreign.DeepCopy()
	own.Name = "somebodys-own"
	for _, o := range []*check{foreign, own} {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually("what is left of a source is deleted", func() bool { return w.checks()[foreign.Name] == "" })
	if w.checks()[own.Name] == "" {
		t.Error("a check of a third party was deleted")
	}
	if err := w.Client.Delete(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}}); err != nil {
		t.Fatal(err)
	}
	w.eventually("objects of a deleted node are deleted", func() bool { return len(w.checks()) == 2*1+2*3 })
}

func TestNothingIsCheckedWhenDisabled(t *testing.T) {
	w := start(t)
	openshift := &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	w.Create(t, openshift)
	w.Create(t, &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}})
	w.run()
	condition := func(status metav1.ConditionStatus, reason string) func() bool {
		return func() bool {
			var n configv1.Network
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(openshift), &n); err != nil {
				t.Fatal(err)
			}
			c := meta.FindStatusCondition(n.Status.Conditions, "NetworkDiagnosticsAvailable")
			return c == nil && status == "" || c != nil && c.Status == status && c.Reason == reason
		}
	}
	w.eventually("there are no sources", condition(metav1.ConditionFalse, "NoSources"))
	source := w.slice(connectivity.SourceName, connectivity.MetricsPort, map[string]string{"a": "10.128.0.2"})
	w.eventually("there are no targets", condition(metav1.ConditionFalse, "NoTargets"))
	w.slice(connectivity.TargetName, connectivity.TargetPort, map[string]string{"b": "10.128.0.3"})
	w.eventually("there is both", condition(metav1.ConditionTrue, "AsExpected"))
	w.eventually("the node is checked", func() bool { return w.checks()["network-check-source-a-to-network-check-target-b"] != "" })

	mode := func(mode configv1.NetworkDiagnosticsMode) {
		patch := fmt.Sprintf(`{"spec":{"networkDiagnostics":{"mode":%q,"sourcePlacement":null,"targetPlacement":null}}}`, mode)
		if err := w.Client.Patch(t.Context(), openshift.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	mode(configv1.NetworkDiagnosticsDisabled)
	w.eventually("nothing is checked", func() bool { return len(w.checks()) == 0 })
	w.eventually("and there is no condition", condition("", ""))
	mode(configv1.NetworkDiagnosticsAll)
	w.eventually("it is checked again", func() bool { return len(w.checks()) > 0 })
	apitest.Change(t, w.Client, source, func() { source.Endpoints[0].Conditions.Ready = new(false) })
	w.eventually("a source that is not ready is none", condition(metav1.ConditionFalse, "NoSources"))
}

func TestAPIServersOfOpenShiftAreChecked(t *testing.T) {
	w := start(t)
	infrastructure := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	w.Create(t, infrastructure)
	infrastructure.Status = configv1.InfrastructureStatus{APIServerURL: "https://api.example.com:6443", APIServerInternalURL: "https://api-int.example.com:6443",
		ControlPlaneTopology: configv1.HighlyAvailableTopologyMode, InfrastructureTopology: configv1.HighlyAvailableTopologyMode}
	if err := w.Client.Status().Update(t.Context(), infrastructure); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.slice(connectivity.SourceName, connectivity.MetricsPort, map[string]string{"a": "10.128.0.2"})
	w.eventually("the load balancers are checked", func() bool {
		all := w.checks()
		return strings.HasSuffix(all["network-check-source-a-to-load-balancer-api-external"], " api.example.com:6443") &&
			strings.HasSuffix(all["network-check-source-a-to-load-balancer-api-internal"], " api-int.example.com:6443")
	})
	endpoint := ""
	for name := range w.checks() {
		if strings.Contains(name, "-to-kubernetes-apiserver-endpoint-") {
			endpoint = name
		}
	}
	if endpoint == "" {
		t.Error("the API server's endpoint is not checked")
	}
	apitest.ChangeStatus(t, w.Client, infrastructure, func() { infrastructure.Status.ControlPlaneTopology = configv1.ExternalTopologyMode })
	w.eventually("API servers of another cluster are not", func() bool { return w.checks()[endpoint] == "" })
}

package egressrouter

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// with returns a valid router of an age, with an address and a master.
func with(namespace, name string, age time.Duration, address, master string) *networkv1.EgressRouter {
	r := valid(name)
	r.Namespace, r.UID, r.Generation = namespace, types.UID(namespace+"/"+name), 1
	r.CreationTimestamp = metav1.NewTime(time.Unix(1e9, 0).Add(-age))
	r.Spec.Addresses[0].IP = address
	r.Spec.NetworkInterface.Macvlan.Master = master
	return r
}

func TestAddressesOfOtherHostsAreRefused(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "a"}, {Type: corev1.NodeInternalIP, Address: "192.168.12.5"}, {Type: corev1.NodeExternalIP, Address: "192.168.12.6"}}}}
	infra := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{
		BareMetal: &configv1.BareMetalPlatformStatus{APIServerInternalIPs: []string{"192.168.12.7"}, IngressIPs: []string{"192.168.12.8"}}}}}
	for _, row := range []struct {
		why          string
		router       *networkv1.EgressRouter
		ownedByOther []*networkv1.EgressRouter
		want         string // empty if the router may have its address
	}{
		{"a free address", with("b", "r", 0, "192.168.12.99/24", ""), nil, ""},
		{"an internal address of a node", with("b", "r", 0, "192.168.12.5/24", ""), nil, "spec.addresses[0].ip: 192.168.12.5 is the address of node a; choose"},
		{"an external one, on another link", with("b", "r", 0, "192.168.12.6/24", "eth9"), nil, "is the address of node a"},
		{"that of the API server", with("b", "r", 0, "192.168.12.7/24", ""), nil, "192.168.12.7 is a virtual address of the cluster"},
		{"that of ingress", with("b", "r", 0, "192.168.12.8/24", ""), nil, "192.168.12.8 is a virtual address of the cluster"},
		{"that of an older router", with("b", "r", 0, "192.168.12.99/24", ""), []*networkv1.EgressRouter{with("z", "old", time.Hour, "192.168.12.99/24", "eth1")}, "is the address of the older EgressRouter z/old"},
		{"that of a younger router", with("b", "r", time.Hour, "192.168.12.99/24", ""), []*networkv1.EgressRouter{with("a", "new", 0, "192.168.12.99/24", "")}, ""},
		{"of two of one second the first by name", with("b", "r", 0, "192.168.12.99/24", ""), []*networkv1.EgressRouter{with("a", "x", 0, "192.168.12.99/24", "")}, "is the address of the older EgressRouter a/x"},
		{"an older one on another link", with("b", "r", 0, "192.168.12.99/24", "eth0"), []*networkv1.EgressRouter{with("z", "old", time.Hour, "192.168.12.99/24", "eth1")}, ""},
		{"an older one that cannot be read", with("b", "r", 0, "192.168.12.99/24", ""), []*networkv1.EgressRouter{with("z", "old", time.Hour, "x", "")}, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			objects := []client.Object{row.router, infra.DeepCopy()}
			for _, o := range row.ownedByOther {
				objects = append(objects, o)
			}
			c := fakeLoop(t, node, objects...)
			got := runFake(t, c, row.router)
			if row.want == "" && got.Reason == reasonAddressInUse || row.want != "" && (got.Reason != reasonAddressInUse || !strings.Contains(got.Message, row.want)) {
				t.Errorf("Degraded is %+v", got)
			}
		})
	}
}

// TestReleasedAddressIsAccepted: the operator starts with two routers of one address, and looks at the younger first.
func TestReleasedAddressIsAccepted(t *testing.T) {
	young, old := with("a", "young", 0, "192.168.12.99/24", ""), with("b", "old", time.Hour, "192.168.12.99/24", "")
	c := fakeLoop(t, &corev1.Node{}, young, old)
	if got := runFake(t, c, young); got.Reason != reasonAddressInUse || got.Status != networkv1.ConditionTrue {
		t.Errorf("the younger: %+v", got)
	}
	if got := runFake(t, c, old); got.Reason == reasonAddressInUse {
		t.Errorf("the older: %+v", got)
	}
	if err := c.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	next := c.sharingAddress(t.Context(), old)
	if len(next) != 1 || next[0].NamespacedName != client.ObjectKeyFromObject(young) {
		t.Fatalf("looked at after the deletion: %v", next)
	}
	if got := runFake(t, c, young); got.Reason == reasonAddressInUse {
		t.Errorf("the younger, alone: %+v", got)
	}
}

// fakeLoop returns a controller without Multus on a cluster of one node.
func fakeLoop(t *testing.T, node *corev1.Node, objects ...client.Object) *Controller {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, networkv1.AddToScheme, configv1.Install} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&networkv1.EgressRouter{}).Build()
	return &Controller{
		Live: api, Image: "egress-router-cni:v1", Events: &eventRecorder{}, Metrics: NewMetrics(prometheus.NewRegistry()), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Nodes:  func(context.Context) ([]*corev1.Node, error) { return []*corev1.Node{node}, nil },
		Serves: func(gk schema.GroupKind) (bool, error) { return gk == kindInfrastructure, nil },
		client: api, memory: map[types.NamespacedName]*memory{},
	}
}

// runFake reconciles a router and returns its condition Degraded.
func runFake(t *testing.T, c *Controller, r *networkv1.EgressRouter) networkv1.EgressRouterStatusCondition {
	t.Helper()
	key := client.ObjectKeyFromObject(r)
	result, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	var now networkv1.EgressRouter
	if err := c.client.Get(t.Context(), key, &now); err != nil {
		t.Fatal(err)
	}
	degraded := find(now.Status.Conditions, networkv1.EgressRouterDegraded)
	if degraded == nil {
		t.Fatal("there is no condition Degraded")
	}
	if degraded.Reason == reasonAddressInUse && result.RequeueAfter != rejectedRetry {
		t.Errorf("looked at again after %s", result.RequeueAfter)
	}
	return *degraded
}

package northbound

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// TestEveryRowHasAnObject names the object of each row that a small cluster has, and of rows that no cluster of ours has.
func TestEveryRowHasAnObject(t *testing.T) {
	local := corev1.ServiceInternalTrafficPolicyLocal
	rows, _ := Rows(Input{
		Cluster:    Cluster{Networks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14")}},
		Nodes:      []Node{{Name: "node1", Blocks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/23")}}},
		Namespaces: []netpolicy.Namespace{{Name: "shop"}},
		Multicast:  []string{"shop"},
		Pods:       []Pod{{Pod: netpolicy.Pod{ID: netpolicy.ID{Namespace: "shop", Name: "web-0"}, Addresses: []netip.Addr{netip.MustParseAddr("10.128.0.5")}}, Node: "node1", MAC: topology.MAC(netip.MustParseAddr("10.128.0.5"))}},
		Services: []Service{{
			Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}, Spec: corev1.ServiceSpec{
				ClusterIP: "172.30.0.1", ClusterIPs: []string{"172.30.0.1"}, InternalTrafficPolicy: &local, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
			}},
			Slices: []*discoveryv1.EndpointSlice{},
		}},
		Policies: []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "closed"}, Spec: networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
		}}},
	})
	expected := map[string]string{
		tablePort: "pod shop/web-0, node node1", tableRouterPort: "node node1", tableSwitch: "node node1", tablePolicy: "node node1", tableBalancer: "Service shop/front",
		tableRouter: "the cluster", tableBalancers: "the cluster",
	}
	seen := map[string]bool{}
	for _, row := range rows {
		object := ObjectOf(row.Ref)
		if want, named := expected[row.Table]; named && !strings.Contains(want, object) || object == "" {
			t.Errorf("%s belongs to %q, want %q", row.Ref, object, want)
		}
		seen[row.Table] = true
	}
	for table := range expected {
		if !seen[table] {
			t.Errorf("the cluster has no row of %s", table)
		}
	}
	for _, tc := range []struct {
		why  string
		ref  ovsdb.Ref
		want string
	}{
		{"a pod whose namespace looks like a port of a node", ovsdb.Ref{Table: tablePort, Key: "k8s-node1_web"}, "pod k8s-node1/web"},
		{"no port of ours", ovsdb.Ref{Table: tablePort, Key: "odd"}, `logical port "odd"`},
		{"no load balancer of ours", ovsdb.Ref{Table: tableBalancer, Key: "odd"}, "the cluster"},
		{"a load balancer with a part of the key", ovsdb.Ref{Table: tableBalancer, Key: "Service_"}, "the cluster"},
		{"an empty key", ovsdb.Ref{Table: tableAccessRules}, `access rule ""`},
		{"a table that is not known", ovsdb.Ref{Table: "Odd", Key: "x"}, "the cluster"},
	} {
		if got := ObjectOf(tc.ref); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.want)
		}
	}
}

package master_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/master"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// check compares once.
func (w *world) check() []string {
	w.t.Helper()
	c := w.config
	c.Metrics = agent.NewMetrics("ovnkube_master", "test")
	report, err := master.Check(w.t.Context(), c, finding.Persistence{Attempts: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	found := append([]string{}, report.Incomplete...)
	for _, f := range report.Findings {
		found = append(found, f.String())
	}
	return found
}

// TestCheckFindsStaleAndMissingRows plants rows of what does not exist in both databases, and deletes some of what does, while no master runs
// that would repair them.
func TestCheckFindsStaleAndMissingRows(t *testing.T) {
	server := apitest.Start(t, apitest.Options{WithoutProjectCRDs: true})
	w := newWorld(t, server, "check")
	w.node("check1", "192.0.2.65")
	ns := server.Namespace(t)
	p := w.pod(ns, "a", "check1")
	server.Create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "front"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	server.Create(t, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "closed"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	}})
	w.waitPort(p, w.network(p))
	w.waitOpen(true)
	eventually.Holds(t, "the databases agree with the API", func() (string, bool) {
		found := w.check()
		return strings.Join(found, "\n"), len(found) == 0
	})
	w.stop()
	owner := func(key string) string {
		return fmt.Sprintf("external_ids:cno-owner=ovnkube external_ids:cno-key=%q", key)
	}
	create := func(table, key, more string) []string {
		return append(append([]string{"create", table}, strings.Fields(owner(key))...), strings.Fields(more)...)
	}
	row := func(table, column, value string) string {
		return strings.TrimSpace(w.Northbound("--bare", "--columns=_uuid", "find", table, column+"="+value))
	}
	port, set := topology.PodPort(ns, "a"), strings.Fields(row("Address_Set", "external_ids:cno-owner", "ovnkube"))
	for _, tc := range []struct {
		why   string
		plant func()
		want  string
	}{
		{"the port of a pod that does not exist", func() {
			w.Northbound("lsp-add", "check1", "shop_gone", "--", "set", "Logical_Switch_Port", "shop_gone", "external_ids:cno-owner=ovnkube", "external_ids:cno-key=shop_gone")
		}, `northbound database: stale: row Logical_Switch_Port "shop_gone" (pod shop/gone)`},
		{"the port of a pod that exists", func() { w.Northbound("lsp-del", port) }, fmt.Sprintf("northbound database: missing: row Logical_Switch_Port %q (pod %s/a)", port, ns)},
		{"the switch of a node that does not exist", func() { w.Northbound(create("Logical_Switch", "gone", "name=gone")...) }, `northbound database: stale: row Logical_Switch "gone" (node gone)`},
		{"the load balancer of a Service that does not exist", func() { w.Northbound(create("Load_Balancer", "Service_shop/gone_TCP_cluster", "name=gone")...) },
			`northbound database: stale: row Load_Balancer "Service_shop/gone_TCP_cluster" (Service shop/gone)`},
		{"a load balancer with other endpoints", func() {
			w.Northbound("set", "Load_Balancer", row("Load_Balancer", "name", fmt.Sprintf("%q", "Service_"+ns+"/front_TCP_cluster")), "options:reject=false")
		}, fmt.Sprintf(`northbound database: different: row Load_Balancer "Service_%s/front_TCP_cluster" (Service %s/front): other values are desired of options`, ns, ns)},
		{"addresses that a selection does not have", func() { w.Northbound("add", "Address_Set", set[0], "addresses", "10.128.9.9") }, "northbound database: different: row Address_Set"},
		{"an access rule of a policy that does not exist", func() {
			w.Northbound("--type=port-group", "acl-add", "clusterPortGroup", "to-lport", "5", "1", "drop")
			w.Northbound("set", "ACL", row("ACL", "priority", "5"), "external_ids:cno-owner=ovnkube", "external_ids:cno-key=odd")
		}, `northbound database: stale: row ACL "odd"`},
		{"the chassis of a node that does not exist", func() { w.Southbound("chassis-add", "gone", "geneve", "192.0.2.77") }, `chassis: stale: row Chassis "gone" (node gone)`},
		{"the chassis of a node that exists", func() { w.Southbound("chassis-del", "check1") }, `chassis: missing: row Chassis "check1" (node check1)`},
		{"ovn-northd has ended before it wrote a port", func() {
			w.StopNorthd()
			w.Southbound("destroy", "Port_Binding", strings.TrimSpace(w.Southbound("--bare", "--columns=_uuid", "find", "Port_Binding", "logical_port=k8s-check1")))
		}, `southbound database: missing: row Port_Binding "k8s-check1" (node check1)`},
		{"a pod without addresses", func() { w.pod(ns, "late", "check1") }, fmt.Sprintf("annotations: different: annotation k8s.ovn.org/pod-networks (pod %s/late): the master would write", ns)},
		{"addresses that a third party has changed", func() {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"none"}}}`, topology.PodNetworks)
			if err := server.Client.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
		}, fmt.Sprintf("annotations: different: annotation k8s.ovn.org/pod-networks (pod %s/a)", ns)},
	} {
		if before := w.check(); slices.ContainsFunc(before, func(f string) bool { return strings.HasPrefix(f, tc.want) }) {
			t.Errorf("%s: found before it was made: %q", tc.why, before)
		}
		tc.plant()
		if found := w.check(); !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, tc.want) }) {
			t.Errorf("%s: the findings are\n%s\nwithout %s", tc.why, strings.Join(found, "\n"), tc.want)
		}
	}
	w.StartNorthd()
	w.start()
	eventually.Holds(t, "a master that starts repairs all of it", func() (string, bool) {
		found := w.check()
		return strings.Join(found, "\n"), len(found) == 0
	})
}

func TestCheckSkipsDatabasesOfStandbyMasters(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorld(t, server, "elsewhere")
	w.waitOpen(true)
	w.config.Node = "another"
	if found := w.check(); len(found) != 1 || found[0] != "the master of node control-plane leads: only its databases are compared" {
		t.Errorf("%q", found)
	}
}

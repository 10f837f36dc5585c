package openshiftsdn

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

func TestFlowsForAnotherVNIDAreNamed(t *testing.T) {
	namespaces := []*sdnv1.NetNamespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "same"}, NetID: 7}, {ObjectMeta: metav1.ObjectMeta{Name: "joined"}, NetID: 7}, {ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, NetID: 9},
	}
	var whats []string
	for _, s := range staleVNIDs(map[string]uint32{"same": 7, "joined": 8}, namespaces) {
		whats = append(whats, s.What)
	}
	if diff := cmp.Diff([]string{"flows of namespace joined are for VNID 8, and its NetNamespace has netid 7"}, whats); diff != "" {
		t.Error(diff)
	}
}

// TestEgressIPsThatCannotBeUsed: cause and way out are those of the events; mode Multitenant has one more cause.
func TestEgressIPsThatCannotBeUsed(t *testing.T) {
	config := agentconfig.Default()
	config.ServiceNetwork = netip.MustParsePrefix("172.30.0.0/16")
	subnets := []sdnv1.HostSubnet{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Host: "n", HostIP: "192.0.2.1", EgressIPs: []string{"192.0.2.1", "192.0.2.9"}}}
	namespaces := []*sdnv1.NetNamespace{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, NetID: 7, EgressIPs: []string{"192.0.2.9"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}, NetID: 7}}
	own := provider.Symptom{Severe: true, What: "HostSubnet n: egress IPs cannot be used (EgressIPInvalid)", Cause: "egress IP 192.0.2.1 is the address of node n itself", WayOut: "choose one that no host has"}
	for mode, want := range map[agentconfig.Mode][]provider.Symptom{
		agentconfig.NetworkPolicy: {own},
		agentconfig.Multitenant: {own, {
			Severe: true, What: "NetNamespace a: egress IPs cannot be used (EgressIPConflict)",
			Cause:  "the namespace shares VNID 7 with b: what its pods send outside of the cluster is dropped, as egress IPs need a VNID of their own",
			WayOut: "isolate it with cno pod-network isolate-projects, or remove egressIPs",
		}},
	} {
		config.Mode = mode
		if diff := cmp.Diff(want, unusable(config, subnets, namespaces)); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
}

func TestSymptomNamesTheAffectedNodes(t *testing.T) {
	e := &examination{nodes: map[provider.Symptom][]string{}}
	for _, node := range []string{"c", "b", "a"} {
		e.add(node, provider.Symptom{What: "x"})
	}
	e.add("", provider.Symptom{What: "HostSubnet n"})
	want := []provider.Symptom{{What: "HostSubnet n"}, {What: "node a, node b and node c: x"}}
	if diff := cmp.Diff(want, e.result().Symptoms); diff != "" {
		t.Error(diff)
	}
}

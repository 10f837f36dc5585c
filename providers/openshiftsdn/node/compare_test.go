package node

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

// whats are the clauses of differences, which all have a cause and a way out.
func whats(t *testing.T, all []agentconfig.Difference) []string {
	t.Helper()
	var out []string
	for _, d := range all {
		if d.Cause == "" || d.WayOut == "" {
			t.Errorf("%+v", d)
		}
		out = append(out, d.What)
	}
	return out
}

// TestFlowsThatDifferAreNamedByTableAndObject: once for each, however many there are.
func TestFlowsThatDifferAreNamedByTableAndObject(t *testing.T) {
	web := openflow.Flow{Table: 80, Note: "NetworkPolicy shop/web, ingress rule 1"}
	set, err := openflow.NewSet(web)
	if err != nil {
		t.Fatal(err)
	}
	cookie := fmt.Sprintf("cookie=%#x", web.Cookie())
	for _, row := range []struct {
		why   string
		lines []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"two of one policy", []string{"-table=80 priority=7,ip,nw_src=10.0.0.1 " + cookie + " actions=drop", "-table=80 priority=7,ip,nw_src=10.0.0.2 " + cookie + " actions=drop"},
			[]string{"table 80 of br0 lacks 2 flows: NetworkPolicy shop/web, ingress rule 1"}},
		{"of a third party", []string{"+priority=9 actions=drop", "+table=70 priority=9 cookie=0x1 actions=drop"},
			[]string{"table 0 of br0 has 1 flow that no object asks for", "table 70 of br0 has 1 flow that no object asks for"}},
	} {
		if diff := cmp.Diff(row.want, whats(t, flowDifferences(row.lines, set, "c"))); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

func TestAddressesVNIDsAndEgressIPsThatDiffer(t *testing.T) {
	running := func(name, address string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.UID, p.Status.Phase, p.Status.PodIPs = "u", corev1.PodRunning, []corev1.PodIP{{IP: address}}
		return p
	}
	at := func(name, address, uid string) local {
		return local{ID: netpolicy.ID{Namespace: "one", Name: name}, UID: uid, Address: netip.MustParseAddr(address)}
	}
	s := snapshot{Node: "n", Config: agentconfig.Config{Mode: agentconfig.NetworkPolicy}}
	s.Pods = []*corev1.Pod{running("same", "10.0.0.2"), running("moved", "10.0.0.3"), running("lost", "10.0.0.4"), running("older", "10.0.0.6")}
	elsewhere := running("elsewhere", "10.0.1.2")
	elsewhere.Spec.NodeName = "m"
	s.Pods = append(s.Pods, elsewhere)
	s.Local = []local{at("same", "10.0.0.2", "u"), at("moved", "10.0.0.9", "u"), at("older", "10.0.0.7", "former"), at("twin", "10.0.0.2", "")}
	want := []string{
		"pods one/same and one/twin both have the address 10.0.0.2", "pod one/moved has the address 10.0.0.9 on br0, and 10.0.0.3 in its status",
		"pod one/lost runs with the address 10.0.0.4 and has no port of br0",
	}
	if diff := cmp.Diff(want, whats(t, addressDifferences(s))); diff != "" {
		t.Error(diff)
	}
	var d desired
	d.vnids(s)
	if diff := cmp.Diff([]string{"namespace one has no NetNamespace: its pods have no network"}, whats(t, vnidDifferences(s, d))); diff != "" {
		t.Error(diff)
	}
	s.Known = map[string]uint32{"one": 7}
	d.vnids(s)
	if diff := cmp.Diff([]string{"namespace one has no NetNamespace: its pods keep the VNID 7 that they had"}, whats(t, vnidDifferences(s, d))); diff != "" {
		t.Error(diff)
	}
	s.NetNamespaces = []*sdnv1.NetNamespace{netNamespace("one", 7)}
	if got := vnidDifferences(s, d); got != nil {
		t.Errorf("%+v", got)
	}
	first, second, third := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")
	claims := []egressip.Claim{{Address: first, VNID: 7, Namespace: "one"}, {Address: second, VNID: 7, Namespace: "one"}, {Address: third, VNID: 8, Namespace: "two"}}
	found := egressDifferences(claims, map[netip.Addr]uint32{first: 7, third: 7}, map[netip.Addr]string{second: "it is that of another machine"})
	if diff := cmp.Diff([]string{"namespace one (VNID 7) does not leave with egress IP 192.0.2.2", "namespace two (VNID 8) does not leave with egress IP 192.0.2.3"}, whats(t, found)); diff != "" {
		t.Error(diff)
	}
	if found[0].Cause != "it is that of another machine" || !strings.Contains(found[1].Cause, "not taken") {
		t.Errorf("%+v", found)
	}
}

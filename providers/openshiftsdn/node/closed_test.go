package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	hostflows "github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// TestRefusedFlows: flows that were refused are closed while they are the same, and are tried again from time to time.
func TestRefusedFlows(t *testing.T) {
	set := func(actions ...openflow.Action) openflow.Set {
		s, err := openflow.NewSet(
			openflow.Flow{Table: 80, Match: []openflow.Match{openflow.Is(openflow.IP)}, Actions: actions, Note: "n", Owner: "namespace shop"},
			openflow.Flow{Table: 81, Note: "o", Owner: "namespace other"},
		)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refused := &hostflows.RefusedError{Owner: "namespace shop", Err: errors.New("input too big")}
	for _, row := range []struct {
		why    string
		err    error
		passed time.Duration
		now    openflow.Set
		closed bool
	}{
		{"the same flows", refused, 0, set("drop"), true},
		{"the same flows, later", fmt.Errorf("apply: %w", refused), refusalLifetime, set("drop"), true},
		{"tried again: what Open vSwitch lacked may exist", refused, refusalLifetime + time.Second, set("drop"), false},
		{"other flows", refused, 0, set(openflow.Normal()), false},
		{"an error that names no owner closes none", errors.New("no connection"), 0, set("drop"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r refusedFlows
			if named := r.record(set("drop"), row.err); named != errors.As(row.err, new(*hostflows.RefusedError)) {
				t.Errorf("%s: an owner is named: %t", row.why, named)
			}
			time.Sleep(row.passed)
			want := map[string]string{}
			if row.closed {
				want["namespace shop"] = "Open vSwitch refuses their flows: input too big"
			}
			for range 2 {
				if diff := cmp.Diff(want, r.of(row.now)); diff != "" {
					t.Errorf("%s: %s", row.why, diff)
				}
			}
			if !row.closed && len(r.of(set("drop"))) > 0 {
				t.Errorf("%s: the flows are closed although they were opened since", row.why)
			}
		})
	}
}

// TestRefusalText: the text is the same each time, and is not that of a whole flow.
func TestRefusalText(t *testing.T) {
	got := refusalText(errors.New("Error OFPMMFC_INVALID_METER for: OFPT_FLOW_MOD (OF1.5) (xid=0x7): ADD actions=" + strings.Repeat("output:1,", 1000)))
	if !strings.HasPrefix(got, "Error OFPMMFC_INVALID_METER for: OFPT_FLOW_MOD (OF1.5): ADD actions=output:1,") || len(got) > 504 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestClosedProblems: the Event is on the object that has to be changed.
func TestClosedProblems(t *testing.T) {
	s := snapshot{
		Node: "worker-0",
		Policies: []*networkingv1.NetworkPolicy{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}, Spec: networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, 2)}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}, Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: make([]networkingv1.NetworkPolicyPort, 5)}}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "equal", Name: "y"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "equal", Name: "x"}},
		},
		Firewalls: []*sdnv1.EgressNetworkPolicy{egressPolicy("shop", "default")},
		Pods:      []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}},
	}
	for _, row := range []struct {
		why, owner string
		want       string
	}{
		{"the largest policy of the namespace", flows.PolicyOwner("shop"), "*v1.NetworkPolicy shop/b"},
		{"of equal ones, the first by name", flows.PolicyOwner("equal"), "*v1.NetworkPolicy equal/x"},
		{"an egress firewall", "EgressNetworkPolicy shop/default", "*v1.EgressNetworkPolicy shop/default"},
		{"a pod with limits", flows.PodOwner(netpolicy.ID{Namespace: "shop", Name: "web"}), "*v1.Pod shop/web"},
		{"an object that was deleted", flows.PolicyOwner("deleted"), ""},
	} {
		got := ""
		for _, p := range closedProblems(s, map[string]string{row.owner: "the reason"}) {
			object := p.Object.(metav1.Object)
			got += fmt.Sprintf("%T %s/%s", p.Object, object.GetNamespace(), object.GetName())
			if p.Reason != reasonClosed || !strings.Contains(p.Message, row.owner) || !strings.HasPrefix(p.Message, "node worker-0 ") || !strings.HasSuffix(p.Message, ": the reason") {
				t.Errorf("%s: %s: %s", row.why, p.Reason, p.Message)
			}
		}
		if got != row.want {
			t.Errorf("%s: the problem is of %q, want %q", row.why, got, row.want)
		}
	}
}

// TestClosedOwnersHaveNoFlows: what is closed allows nothing in the flows of the bridge.
func TestClosedOwnersHaveNoFlows(t *testing.T) {
	s := base(agentconfig.NetworkPolicy)
	s.Firewalls = []*sdnv1.EgressNetworkPolicy{egressPolicy("a", "default", rule(sdnv1.EgressNetworkPolicyRuleAllow, "198.51.100.0/24", ""))}
	s.Local[0].Limits.Ingress = 1000
	s.Pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u"}}}
	s.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	s.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "all"}, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
	}}}
	for _, row := range []struct{ why, owner, opened, closed string }{
		{"policies", flows.PolicyOwner("a"), "table=80,priority=151,ip,nw_dst=10.128.2.9 actions=output", "table=80,priority=100,ip,nw_dst=10.128.2.9 actions=drop"},
		{"an egress firewall", "EgressNetworkPolicy a/default", "nw_dst=198.51.100.0/24,reg0=0xa actions=goto_table", "table=100,priority=20001,reg0=0xa actions=drop"},
		{"a pod", "pod a/p", "table=70,priority=100,ip,nw_dst=10.128.2.9 actions=meter:22", "table=70,priority=0 actions=drop"},
	} {
		var d daemon
		want, before, err := d.compute(s)
		if err != nil || len(want.Input.Closed) > 0 || !strings.Contains(before.Flows.String(), row.opened) {
			t.Fatalf("%s: before: closed are %v, %v\n%s", row.why, want.Input.Closed, err, before.Flows)
		}
		d.refused.record(before.Flows, &hostflows.RefusedError{Owner: row.owner, Err: errors.New("a reason")})
		want, after, err := d.compute(s)
		if err != nil || len(want.Input.Closed) != 1 || want.Input.Closed[row.owner] == "" {
			t.Fatalf("%s: closed are %v, %v", row.why, want.Input.Closed, err)
		}
		if text := after.Flows.String(); strings.Contains(text, row.opened) || !strings.Contains(text, row.closed) {
			t.Errorf("%s: the flows are\n%s", row.why, text)
		}
	}
}

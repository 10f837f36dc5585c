package northbound_test

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// loggedRules are the access rules with messages in a database, as "NAME SEVERITY", and how many have none.
func (w *world) loggedRules() (logged []string, others int) {
	w.t.Helper()
	for line := range strings.Lines(w.Northbound("--format=csv", "--no-headings", "--data=bare", "--columns=log,severity,meter,name", "list", "ACL")) {
		parts := strings.SplitN(strings.TrimSpace(line), ",", 4)
		switch {
		case parts[0] != "true":
			others++
		case parts[2] != "acl-logging":
			w.t.Errorf("a rule with messages has the meter %q: %s", parts[2], line)
		default:
			logged = append(logged, parts[3]+" "+parts[1])
		}
	}
	return logged, others
}

// TestPolicyLoggingOfNamespaces writes rows into a real database: messages are those of the policies of a namespace, and go with its annotation.
func TestPolicyLoggingOfNamespaces(t *testing.T) {
	w := start(t, policyCluster())
	for _, namespace := range []string{"one", "two"} {
		w.in.Policies = append(w.in.Policies, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}}},
		})
	}
	for _, tc := range []struct {
		why     string
		logging topology.Logging
		want    []string
	}{
		{"no annotation", topology.Logging{}, nil},
		{"both", topology.Logging{Deny: "alert", Allow: "notice"}, []string{"isolation one ingress drop alert", "one/web ingress 0 notice"}},
		{"what is denied alone, with another severity", topology.Logging{Deny: "info"}, []string{"isolation one ingress drop info"}},
		{"removed", topology.Logging{}, nil},
	} {
		w.in.Logging = map[string]topology.Logging{"one": tc.logging}
		w.fill()
		logged, others := w.loggedRules()
		if len(logged) != len(tc.want) || others < 4 {
			t.Errorf("%s: rules with messages are %q, want %q; %d have none", tc.why, logged, tc.want, others)
		}
		for _, want := range tc.want {
			if !strings.Contains(strings.Join(logged, "\n"), want) {
				t.Errorf("%s: %q is missing in %q", tc.why, want, logged)
			}
		}
		meters := w.Northbound("meter-list")
		if got := strings.Contains(meters, "drop: 20 pktps"); got != (len(tc.want) > 0) {
			t.Errorf("%s: the meter is %q", tc.why, meters)
		}
	}
}

// TestPolicyLoggingChangesIncrementally: the rate alone changes the meter, an annotation the rules of its namespace.
func TestPolicyLoggingChangesIncrementally(t *testing.T) {
	in := policyCluster()
	in.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "web"}}}
	s := northbound.NewState(in.Cluster)
	s.Set(in)
	s.Changes()
	s.SetRateLimit(5)
	if changed, removed := s.Changes(); len(changed)+len(removed) > 0 {
		t.Errorf("a rate without messages changes %v, %v", changed, removed)
	}
	s.SetLogging("one", topology.Logging{Deny: "alert"})
	changed, _ := s.Changes()
	if rate := rateOf(changed); rate != 5 {
		t.Errorf("the meter has the rate %d, want 5", rate)
	}
	s.SetLogging("one", topology.Logging{Deny: "alert"})
	if changed, removed := s.Changes(); len(changed)+len(removed) > 0 {
		t.Errorf("the same annotation again changes %v, %v", changed, removed)
	}
	s.SetRateLimit(7)
	if changed, removed := s.Changes(); rateOf(changed) != 7 || len(changed) != 2 || len(removed) > 0 {
		t.Errorf("another rate changes %v, %v", changed, removed)
	}
	s.SetLogging("one", topology.Logging{})
	if _, removed := s.Changes(); len(removed) != 2 {
		t.Errorf("without messages, what is removed is %v, want the meter and its band", removed)
	}
}

func rateOf(rows []ovsdb.Desired) any {
	for _, r := range rows {
		if r.Table == "Meter_Band" {
			return r.Columns["rate"]
		}
	}
	return 0
}

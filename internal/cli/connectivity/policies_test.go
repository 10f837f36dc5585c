package connectivity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/netprobe"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// protected are servers of every policy on two nodes.
func protected() map[string]guarded {
	servers := map[string]guarded{}
	for i, policy := range []string{denyIngress, allowLabelled, allowPort} {
		last := string(rune('3' + i))
		servers[policy] = guarded{pods: map[string][]string{"a": {"10.0.1." + last, "fd00:1::" + last}, "b": {"10.0.2." + last, "fd00:2::" + last}}, service: []string{"10.96.0.1" + last}}
	}
	return servers
}

// TestPoliciesAreTestedOnOneNodeAndBetweenNodes: every policy with what it drops and what it lets pass, to pods and through a service.
func TestPoliciesAreTestedOnOneNodeAndBetweenNodes(t *testing.T) {
	places, open := two()
	all := policyScenarios(restricted(places, false), protected(), open, true)
	named, ids := map[string]scenario{}, map[string]bool{}
	for _, s := range all {
		named[s.name], ids[s.ID] = s, true
		if s.from == "c" || !s.Patient || s.kind != decided {
			t.Errorf("%+v", s)
		}
	}
	if len(named) != len(all) || len(ids) != len(all) {
		t.Errorf("%d scenarios have %d names and %d IDs", len(all), len(named), len(ids))
	}
	for _, from := range []string{"a", "b"} {
		for _, to := range []string{"pod on a (IPv4", "pod on b (IPv4", "pod on a (IPv6", "pod on b (IPv6", "service (IPv4"} {
			for _, row := range []struct{ client, port, policy, verb string }{
				{"pod", "TCP port 19876", denyIngress, "denies"},
				{"labelled pod", "TCP port 19876", allowLabelled, "allows"},
				{"pod", "TCP port 19876", allowLabelled, "denies"},
				{"pod", "TCP port 19876", allowPort, "allows"},
				{"pod", "TCP port 19879", allowPort, "denies"},
				{"pod with allow-dns", "TCP port 19876", allowDNS, "denies"},
			} {
				name := row.client + " on " + from + " -> " + to + ", " + row.port + "), which NetworkPolicy " + row.policy + " " + row.verb
				s, tried := named[name]
				if !tried || s.Denied != (row.verb == "denies") {
					t.Errorf("%s is %+v", name, s)
				}
			}
		}
		for _, name := range []string{
			"pod on " + from + " -> pod on a (IPv4, UDP port 19876), which NetworkPolicy allow-port denies",
			"pod with allow-dns on " + from + " -> API server by service (IPv4, TCP port 443), which NetworkPolicy allow-dns denies",
			"pod with allow-dns on " + from + " -> name of the API server, which NetworkPolicy allow-dns allows",
			"host " + from + " -> its own pod (IPv4, TCP port 19879), which NetworkPolicy allow-port does not restrict",
		} {
			if _, tried := named[name]; !tried {
				t.Errorf("%s is not tried", name)
			}
		}
	}
	for _, s := range policyScenarios(restricted(places, false), protected(), open, false) {
		if s.client == allowDNS {
			t.Errorf("%s is tried on a network without egress policies", s.name)
		}
	}
	if many := restricted(slices.Repeat(places[:1], 5), false); len(many) != mostRestricted {
		t.Errorf("%d of five nodes are tried", len(many))
	}
	if named := restricted(slices.Repeat(places[:1], 5), true); len(named) != 5 {
		t.Errorf("%d of five nodes that are named are tried", len(named))
	}
}

// TestEnforcedPoliciesSelectTheTests: by their own declarations.
func TestEnforcedPoliciesSelectTheTests(t *testing.T) {
	for _, row := range []struct {
		network operatorv1.NetworkType
		mode    osv1.SDNMode
		want    enforcement
	}{
		{operatorv1.NetworkTypeFlannel, "", enforcement{unenforced: "Flannel does not enforce NetworkPolicies"}},
		{operatorv1.NetworkTypeOVNKubernetes, "", enforcement{egress: true}},
		{operatorv1.NetworkTypeOpenShiftSDN, "", enforcement{egress: true}},
		{operatorv1.NetworkTypeOpenShiftSDN, osv1.SDNModeMultitenant, enforcement{
			unenforced: "NetworkPolicies are not enforced in mode Multitenant", isolation: "mode Multitenant connects only namespaces of the same VNID", egress: true}},
		{operatorv1.NetworkTypeOpenShiftSDN, osv1.SDNModeSubnet, enforcement{unenforced: "NetworkPolicies are not enforced in mode Subnet", egress: true}},
		{"Acme", "", enforcement{unenforced: "the operator does not know whether network Acme enforces them"}},
	} {
		spec := &operatorv1.NetworkSpec{}
		spec.DefaultNetwork.Type = row.network
		if row.mode != "" {
			spec.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: row.mode}
		}
		if got := enforcementOf(networks.Registry(), spec); got != row.want {
			t.Errorf("%s %s: %+v, want %+v", row.network, row.mode, got, row.want)
		}
	}
}

// TestOnlyUnexpectedResultsAreProblems: a drop is as good a result as an answer, where it is expected.
func TestOnlyUnexpectedResultsAreProblems(t *testing.T) {
	denied := scenario{because: "NetworkPolicy p denies it", Probe: netprobe.Probe{Denied: true}}
	allowed := scenario{because: "NetworkPolicy p allows it"}
	for _, row := range []struct {
		of          scenario
		error, want string
	}{
		{scenario{}, "", ""}, {scenario{}, "i/o timeout", "i/o timeout"},
		{denied, "i/o timeout", ""}, {denied, "", "the connection succeeded, although NetworkPolicy p denies it"},
		{allowed, "", ""}, {allowed, "i/o timeout", "it is not reached, although NetworkPolicy p allows it: i/o timeout"},
	} {
		if got := row.of.problem(netprobe.Result{Error: row.error}); got != row.want {
			t.Errorf("%+v, result %q: %q, want %q", row.of, row.error, got, row.want)
		}
	}
}

// TestNodeOfTheDecidingAgentIsNamed: but a policy is not blamed for what nothing passes.
func TestNodeOfTheDecidingAgentIsNamed(t *testing.T) {
	places, open := two()
	places = restricted(places, false)
	all := append(scenarios(places, open), policyScenarios(places, protected(), open, true)...)
	for _, row := range []struct {
		why  string
		want []string
		fail func(scenario) bool
	}{
		{"all is well", nil, func(scenario) bool { return false }},
		{"nothing is dropped from a to b", []string{"pods on a and b: connections succeed that must be dropped"}, func(s scenario) bool { return s.Denied && s.from == "a" && s.to == "b" }},
		{"too much is dropped on b", []string{"pods on b: connections are dropped that must succeed"}, func(s scenario) bool { return s.client == labelledClient && s.from == "b" && s.to == "b" }},
		{"the bridge of a", []string{"pod -> own node on a"}, func(s scenario) bool { return !s.Denied && s.from == "a" && s.to == "a" }},
	} {
		failed := map[string]bool{}
		for _, s := range all {
			failed[s.ID] = row.fail(s)
		}
		sentences := hops(all, failed)
		if len(sentences) != len(row.want) || len(sentences) > 0 && !strings.HasPrefix(sentences[0], row.want[0]) {
			t.Errorf("%s: %q, want %q", row.why, sentences, row.want)
		}
	}
}

// TestNetworkIsTested: from the nodes to the report, against an API server, with kubelets and a network of the test.
func TestNetworkIsTested(t *testing.T) {
	server := apitest.Shared(t)
	dns := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}}}
	server.Create(t, dns)
	w, config := newWorld(t)
	policies, isolated := enforcement{egress: true}, enforcement{unenforced: "mode M", isolation: "mode M isolates namespaces"}
	for _, row := range []struct {
		why             string
		ignored, closed string
		isolates        bool
		declared        enforcement
		// failed is in the error of every failure; there is none if it is empty. tried are parts of names, notes the notes.
		failed string
		tried  []string
		notes  []string
	}{
		{"policies are enforced", "", "", false, policies, "", []string{"NetworkPolicy " + denyIngress, "NetworkPolicy " + allowDNS}, nil},
		{"egress is not", "", "", false, enforcement{}, "", []string{"NetworkPolicy " + denyIngress}, []string{"scenarios with NetworkPolicies for egress are skipped: the network does not enforce them"}},
		{"a policy is ignored", denyIngress, "", false, policies, "the connection succeeded, although NetworkPolicy deny-ingress denies it", nil, nil},
		{"ports are ignored", allowPort, "", false, policies, "the connection succeeded, although NetworkPolicy allow-port denies it", nil, nil},
		{"egress is ignored", allowDNS, "", false, policies, "the connection succeeded, although NetworkPolicy allow-dns denies it", nil, nil},
		{"what a policy allows is dropped", "", allowLabelled, false, policies, "it is not reached, although NetworkPolicy allow-labelled allows it: i/o timeout", nil, nil},
		{"no policies", "", "", false, enforcement{unenforced: "F does not enforce them"}, "", nil, []string{"scenarios with NetworkPolicies are skipped: F does not enforce them"}},
		{"namespaces are isolated", "", "", true, isolated, "", []string{"pod of the first namespace on a -> node port on a of the second", "pod of the second namespace on b -> service of its own"},
			[]string{"scenarios with NetworkPolicies are skipped: mode M"}},
		{"namespaces are not isolated", "", "", false, isolated, "the connection succeeded, although mode M isolates namespaces", nil, []string{"scenarios with NetworkPolicies are skipped: mode M"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			w.ignored, w.closed, w.isolates = row.ignored, row.closed, row.isolates
			var r Report
			s := &fixture{operator: "ns", image: "i", enforces: row.declared, logf: func(string, ...any) {}}
			err := s.on(t.Context(), config, time.Minute, func(ctx context.Context, s *fixture) (err error) {
				r, err = s.test(ctx, nil)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Notes, row.notes) {
				t.Errorf("notes %q", r.Notes)
			}
			if (r.Failed > 0) != (row.failed != "") || r.Passed < 30 || (len(r.Hops) > 0) != (row.failed != "") {
				t.Errorf("%d pass, %d fail: %q", r.Passed, r.Failed, r.Hops)
			}
			names := ""
			for _, o := range r.Scenarios {
				names += o.Name + "\n"
				if !o.OK && o.Error != row.failed {
					t.Errorf("%s: %s", o.Name, o.Error)
				}
			}
			for _, part := range row.tried {
				if !strings.Contains(names, part) {
					t.Errorf("%s is not tried", part)
				}
			}
			nothingLeft(t, server.Client)
		})
	}
}

func nothingLeft(t *testing.T, api client.Client) {
	t.Helper()
	var spaces corev1.NamespaceList
	var policies networkingv1.NetworkPolicyList
	if err := errors.Join(api.List(t.Context(), &spaces, client.HasLabels{label}), api.List(t.Context(), &policies)); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, ns := range spaces.Items {
		left[ns.Name] = true
	}
	for _, p := range policies.Items {
		left[p.Namespace+"/"+p.Name] = true
	}
	if len(left) > 0 {
		t.Errorf("%q is left", slices.Collect(maps.Keys(left)))
	}
}

// TestAnInterruptLeavesNothing: after every step that a test reports.
func TestAnInterruptLeavesNothing(t *testing.T) {
	w, config := newWorld(t)
	w.isolates = true
	for after := 1; ; after++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		s := &fixture{operator: "ns", image: "i", enforces: enforcement{egress: true, isolation: "i"}, logf: func(string, ...any) {
			if steps++; steps == after {
				cancel()
			}
		}}
		err := s.on(ctx, config, time.Minute, func(ctx context.Context, s *fixture) error { _, err := s.test(ctx, nil); return err })
		cancel()
		nothingLeft(t, w.api)
		if steps < after {
			if after < 6 || err != nil {
				t.Errorf("the test ends after %d steps: %v", steps, err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted after step %d, it ends with %v", after, err)
		}
	}
}

package node_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestRulesOfTheKernelAreCompared: rules as they should be are no findings, also with policies and egress IPs; what a third party keeps changing is named with
// the table, the chain and the object.
func TestRulesOfTheKernelAreCompared(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	c.register(t)
	one.pod("one", "a", nil)
	two.pod("two", "b", nil)
	c.create(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}},
	})
	c.assign("two", "192.0.2.77")
	one.has("192.0.2.77")
	nft := func(words string) (string, error) {
		return one.at.Try(append([]string{"nft"}, strings.Fields(words)...)...)
	}
	eventually.Holds(t, "the node has the rules of the policy and of the egress IP", func() (string, bool) {
		out, _ := nft("list ruleset")
		return out, strings.Contains(out, "jump policy-") && strings.Contains(out, "snat to 192.0.2.77")
	})
	eventually.Holds(t, "nothing differs", func() (string, bool) {
		lines, missing := c.examine(t)
		return strings.Join(append(lines, missing...), "\n"), len(lines)+len(missing) == 0
	})
	list, err := nft("list map ip openshift-sdn-outside policies")
	if err != nil {
		t.Fatal(list)
	}
	_, elements, _ := strings.Cut(list, "elements = {")
	address := strings.Fields(elements)[0]
	add := func() {
		if out, _ := nft("list chain ip openshift-sdn input"); !strings.Contains(out, "dport 7") {
			_, _ = nft("add rule ip openshift-sdn input tcp dport 7 accept")
		}
	}
	run := func(change string) func() { return func() { _, _ = nft(change) } }
	for want, change := range map[string]func(){
		"node node1: table ip openshift-sdn, chain forward lacks 3 rules: ":                                             run("flush chain ip openshift-sdn forward"),
		"node node1: table ip openshift-sdn, chain input has 1 rule that the agent has not written: ":                   add,
		"node node1: table ip openshift-sdn-outside, map policies lacks 1 element: pod one/a, NetworkPolicy one/deny: ": run("delete element ip openshift-sdn-outside policies { " + address + " }"),
		"node node1: table ip openshift-sdn-egress, chain source lacks 1 rule: egress IP 192.0.2.77 of namespace two: ": run("flush chain ip openshift-sdn-egress source"),
		"node node1: table netdev openshift-sdn-egress does not exist: ":                                                run("delete table netdev openshift-sdn-egress"),
		"node node1: table ip openshift-sdn-other exists, and the network has no such table: ":                          run("add table ip openshift-sdn-other"),
	} {
		stop := repeated(t, change)
		eventually.Holds(t, "it is named: "+want, func() (string, bool) {
			lines, _ := c.examine(t)
			if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "node node2") }); i >= 0 {
				t.Errorf("a finding on the other node: %s", lines[i])
			}
			return strings.Join(lines, "\n"), slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) })
		})
		stop()
	}
	_, _ = nft("delete table ip openshift-sdn-other")
	eventually.Holds(t, "the agent has restored everything", func() (string, bool) {
		lines, missing := c.examine(t)
		return strings.Join(append(lines, missing...), "\n"), len(lines)+len(missing) == 0
	})
}

// repeated makes a change repeatedly, more often than the agent reverts it, but not so often that it never does, until stop is called.
func repeated(t *testing.T, change func()) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			change()
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

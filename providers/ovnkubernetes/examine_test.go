package ovnkubernetes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
)

// TestExamine runs the comparisons on the master that leads and on the nodes that are Ready, and groups what they find.
func TestExamine(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	reader := fake.NewClientBuilder().WithObjects(node("a", corev1.ConditionTrue), node("b", corev1.ConditionTrue), node("c", corev1.ConditionTrue), node("off", corev1.ConditionFalse),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.Lease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("a_17")}}).Build()
	var mu sync.Mutex
	var ran []string
	run := func(_ context.Context, c provider.TraceCommand) (string, error) {
		mu.Lock()
		ran = append(ran, strings.Join([]string{c.Namespace, c.App, c.Node, c.Container, strings.Join(c.Command, " ")}, " "))
		mu.Unlock()
		report := finding.Report{Findings: []finding.Finding{{Kind: finding.Stale, Place: finding.Links, Object: "no pod", What: "interface ovnp" + c.Node}}}
		switch {
		case c.Container == agentconfig.CommandMaster:
			report = finding.Report{More: 3, Findings: []finding.Finding{{Kind: finding.Missing, Place: finding.Northbound, Object: "pod shop/web", What: `row Logical_Switch_Port "shop_web"`}}}
		case c.Node == "b":
			return "", errors.New("no pod runs there")
		case c.Node == "c":
			report.Incomplete = []string{"tunnels and flows: no answer"}
		}
		out, err := report.Encode()
		return string(out), err
	}
	got := OVNKubernetes{}.Examine(t.Context(), provider.TraceAccess{Objects: reader, Run: run})
	slices.Sort(ran)
	const nodes = "openshift-ovn-kubernetes ovnkube "
	if diff := cmp.Diff([]string{
		nodes + "a ovn-node /usr/bin/ovnkube.sh check-node --json", nodes + "b ovn-node /usr/bin/ovnkube.sh check-node --json", nodes + "c ovn-node /usr/bin/ovnkube.sh check-node --json",
		"openshift-ovn-kubernetes ovnkube-master a ovn-master /usr/bin/ovnkube.sh check-master --json",
	}, ran); diff != "" {
		t.Errorf("commands:\n%s", diff)
	}
	if diff := cmp.Diff(provider.Examination{
		Symptoms: []provider.Symptom{
			{Severe: true, What: `missing in OVN-Kubernetes' northbound database: row Logical_Switch_Port "shop_web" (pod shop/web)`, Cause: finding.Missing.Cause(), WayOut: finding.Northbound.WayOut()},
			{What: "stale in OVN-Kubernetes' interfaces: interface ovnpa (no pod) on node a; interface ovnpc (no pod) on node c", Cause: finding.Stale.Cause(), WayOut: finding.Links.WayOut()},
		},
		Missing: []string{"databases of OVN: findings omitted: 3", "node b: no pod runs there", "node c: tunnels and flows: no answer"},
	}, got); diff != "" {
		t.Errorf("result:\n%s", diff)
	}
}

func TestIPsecThatDoesNotAdvanceIsFound(t *testing.T) {
	report := func(phase agentconfig.Phase, peers int, missing ...string) agentconfig.Report {
		return agentconfig.Report{Phase: phase, Peers: peers, Missing: missing}
	}
	for _, tc := range []struct {
		why  string
		s    ipsecState
		want []string
	}{
		{"IPsec is off: what agents that have yet to end report is nothing", ipsecState{ready: []string{"a", "b"}, reports: map[string]agentconfig.Report{"a": report(accept, 1, "b")}}, nil},
		{"all nodes follow", ipsecState{phase: require, ready: []string{"a", "b"}, reports: map[string]agentconfig.Report{"a": report(require, 1), "b": report(require, 1)}}, nil},
		{"a node does not follow, and one does not report", ipsecState{phase: require, ready: []string{"a", "b", "c"}, reports: map[string]agentconfig.Report{"a": report(require, 2), "b": report(accept, 2)}}, []string{
			"IPsec: different: the phase of the node (node b): it is accept instead of require", "IPsec: different: the phase of the node (node c): it is not reported instead of require",
			"IPsec: missing: keys (node c to nodes that have joined): packets between them are dropped",
		}},
		{"no keys with a peer that is Ready", ipsecState{phase: accept, ready: []string{"a", "b"}, reports: map[string]agentconfig.Report{"a": report(accept, 2, "b", "off"), "b": report(accept, 2)}},
			[]string{"IPsec: missing: keys (node a to b): packets between them are not encrypted"}},
		{"IPsec is being turned off: keys are not needed", ipsecState{phase: agentconfig.PhasePlain, ready: []string{"a", "b"}, reports: map[string]agentconfig.Report{
			"a": report(agentconfig.PhasePlain, 1, "b"), "b": report(agentconfig.PhasePlain, 1),
		}}, nil},
	} {
		got := []string{}
		for _, f := range tc.s.findings() {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
			t.Errorf("%s:\n%s", tc.why, diff)
		}
	}
}

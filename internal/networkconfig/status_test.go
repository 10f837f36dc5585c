package networkconfig_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
)

func TestSyncedHasTheWayOut(t *testing.T) {
	invalid := field.ErrorList{field.Required(field.NewPath("spec", "serviceNetwork"), "write one")}
	many := make([]string, 10)
	for i := range many {
		many[i] = fmt.Sprintf("spec.clusterNetwork[%d].cidr", i)
	}
	for _, row := range []struct {
		why         string
		errs        field.ErrorList
		network     *operatorv1.Network
		differences []string
		want        osv1.OperatorCondition
	}{
		{"both agree", nil, &operatorv1.Network{}, nil, osv1.OperatorCondition{
			Type: "Synced", Status: "True", Reason: "AsExpected", Message: "Network.operator.openshift.io/cluster has the same values"}},
		{"an error comes before all else, since nothing was compared", invalid, nil, nil, osv1.OperatorCondition{
			Type: "Synced", Status: "False", Reason: "InvalidNetworkConfig",
			Message: "The configuration is invalid: spec.serviceNetwork: Required value: write one. Use 'kubectl edit networkconfig default' to fix it; until then the last valid one stays active"}},
		{"the Network was not made yet", nil, nil, nil, osv1.OperatorCondition{
			Type: "Synced", Status: "False", Reason: "NetworkMissing",
			Message: "The object Network.operator.openshift.io/cluster does not exist yet"}},
		{"one difference", nil, &operatorv1.Network{}, []string{"spec.deployKubeProxy"}, osv1.OperatorCondition{
			Type: "Synced", Status: "False", Reason: "NetworkDiffers",
			Message: "Network.operator.openshift.io/cluster differs in spec.deployKubeProxy; it takes precedence over this object. Make both the same, or delete this one"}},
		{"two differences read as a sentence", nil, &operatorv1.Network{}, []string{"spec.a", "spec.b"}, osv1.OperatorCondition{
			Type: "Synced", Status: "False", Reason: "NetworkDiffers",
			Message: "Network.operator.openshift.io/cluster differs in spec.a and spec.b; it takes precedence over this object. Make both the same, or delete this one"}},
		{"a long list is cut", nil, &operatorv1.Network{}, many, osv1.OperatorCondition{
			Type: "Synced", Status: "False", Reason: "NetworkDiffers",
			Message: "Network.operator.openshift.io/cluster differs in spec.clusterNetwork[0].cidr, spec.clusterNetwork[1].cidr, spec.clusterNetwork[2].cidr, spec.clusterNetwork[3].cidr, spec.clusterNetwork[4].cidr, spec.clusterNetwork[5].cidr, spec.clusterNetwork[6].cidr, spec.clusterNetwork[7].cidr and 2 more; it takes precedence over this object. Make both the same, or delete this one"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			if diff := cmp.Diff(row.want, networkconfig.Synced(row.errs, row.network, row.differences)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusMirrorsTheNetwork(t *testing.T) {
	early, now := time.Unix(1000, 0), time.Unix(2000, 0)
	network := &operatorv1.Network{}
	network.Status.Version = "v0.1.0"
	network.Status.Conditions = []osv1.OperatorCondition{
		{Type: "Available", Status: "True", LastTransitionTime: metav1.NewTime(early)},
		{Type: "Synced", Status: "True"}, // not ours, and two of one type cannot be
	}
	synced := osv1.OperatorCondition{Type: "Synced", Status: "True", Reason: "AsExpected"}
	at := func(c osv1.OperatorCondition, when time.Time) osv1.OperatorCondition {
		c.LastTransitionTime = metav1.NewTime(when)
		return c
	}
	for _, row := range []struct {
		why     string
		had     []osv1.OperatorCondition
		network *operatorv1.Network
		want    networkoperatorv1.NetworkConfigStatus
	}{
		{"the first time", nil, network, networkoperatorv1.NetworkConfigStatus{
			ObservedGeneration: 7, Version: "v0.1.0",
			Conditions: []osv1.OperatorCondition{network.Status.Conditions[0], at(synced, now)}}},
		{"a condition that stays keeps its time, so that nothing is written", []osv1.OperatorCondition{at(synced, early)}, network,
			networkoperatorv1.NetworkConfigStatus{ObservedGeneration: 7, Version: "v0.1.0",
				Conditions: []osv1.OperatorCondition{network.Status.Conditions[0], at(synced, early)}}},
		{"a condition that turns gets a new time", []osv1.OperatorCondition{{Type: "Synced", Status: "False", LastTransitionTime: metav1.NewTime(early)}}, network,
			networkoperatorv1.NetworkConfigStatus{ObservedGeneration: 7, Version: "v0.1.0",
				Conditions: []osv1.OperatorCondition{network.Status.Conditions[0], at(synced, now)}}},
		{"conditions of a deleted Network are removed, too", []osv1.OperatorCondition{{Type: "Available", Status: "True"}}, nil,
			networkoperatorv1.NetworkConfigStatus{ObservedGeneration: 7, Conditions: []osv1.OperatorCondition{at(synced, now)}}},
	} {
		t.Run(row.why, func(t *testing.T) {
			config := &networkoperatorv1.NetworkConfig{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			config.Status.Conditions = row.had
			if diff := cmp.Diff(row.want, networkconfig.Status(config, row.network, synced, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestToolsSeeThatANetworkConfigIsNotApplied(t *testing.T) {
	good := &operatorv1.Network{}
	good.Generation, good.Status.ObservedGeneration = 2, 2
	good.Status.Conditions = []osv1.OperatorCondition{{Type: "Ready", Status: "True"}, {Type: "Reconciling", Status: "False"}, {Type: "Stalled", Status: "False"}}
	behind := good.DeepCopy()
	behind.Generation = 3
	synced := networkconfig.Synced(nil, good, nil)
	differs := networkconfig.Synced(nil, good, []string{"spec.serviceNetwork"})
	for _, row := range []struct {
		why                         string
		network                     *operatorv1.Network
		synced                      osv1.OperatorCondition
		ready, reconciling, stalled string
	}{
		{"the Network has it and works", good, synced, "True", "False", "False"},
		{"the Network's status is of an older specification", behind, synced, "False NotObserved", "True NotObserved", "False AsExpected"},
		{"there is no Network yet", nil, networkconfig.Synced(nil, nil, nil), "False NetworkMissing", "True NetworkMissing", "False AsExpected"},
		{"the Network has another value, and is available", good, differs, "False NetworkDiffers", "False AsExpected", "True NetworkDiffers"},
	} {
		got := map[string]string{}
		for _, c := range networkconfig.Status(&networkoperatorv1.NetworkConfig{}, row.network, row.synced, time.Unix(1, 0)).Conditions {
			if got[c.Type] != "" {
				t.Errorf("%s: %s appears twice", row.why, c.Type)
			}
			got[c.Type] = strings.TrimSpace(string(c.Status) + " " + c.Reason)
		}
		if got["Ready"] != row.ready || got["Reconciling"] != row.reconciling || got["Stalled"] != row.stalled {
			t.Errorf("%s: %v", row.why, got)
		}
	}
}

package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

func TestMergeRepairsOldSpellings(t *testing.T) {
	old := spec(typed("openshiftsdn"), func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: "Networkpolicy"}
		s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{
			{Type: "raw"},
			{Type: "SimpleMACVLAN", SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{Mode: "vepa", IPAMConfig: &osv1.IPAMConfig{Type: "dhcp"}}},
			{Type: "SimpleMacvlan", SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{Mode: "other"}},
			{Type: "unheard of"},
		}
	})
	written := old.DeepCopy()
	got := mustRun(t, Input{Desired: old}, Merge).Spec
	want := spec(typed(operatorv1.NetworkTypeOpenShiftSDN), func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: osv1.SDNModeNetworkPolicy}
		s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{
			{Type: osv1.NetworkTypeRaw},
			{Type: osv1.NetworkTypeSimpleMacvlan, SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{Mode: osv1.MacvlanModeVEPA, IPAMConfig: &osv1.IPAMConfig{Type: osv1.IPAMTypeDHCP}}},
			{Type: osv1.NetworkTypeSimpleMacvlan, SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{Mode: "other"}},
			{Type: "unheard of"},
		}
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(written, old); d != "" {
		t.Errorf("the input was changed: %s", d)
	}
}

func TestOldSpellingsOfTheTypeAreNoChangeOfIt(t *testing.T) {
	res := mustRun(t, Input{Desired: spec(typed("FLANNEL")), Applied: spec(typed("flannel")), Cluster: cluster()}, Check)
	if res.Spec.DefaultNetwork.Type != operatorv1.NetworkTypeFlannel || res.Traits.Type != operatorv1.NetworkTypeFlannel {
		t.Errorf("type %q, traits of %q", res.Spec.DefaultNetwork.Type, res.Traits.Type)
	}
}

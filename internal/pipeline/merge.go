package pipeline

import (
	"context"
	"errors"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// merge copies the specifications, so that later stages cannot change the input, corrects spellings that earlier
// versions accepted, completes omitted fields, and finds the provider.
func merge(_ context.Context, s *state) error {
	if s.in.Desired == nil {
		return errors.New("there is no specification")
	}
	s.result.Spec = canonical(s.in.Desired, s.registry.types())
	for _, recorded := range []**operatorv1.NetworkSpec{&s.in.Applied, &s.in.Recorded} {
		if *recorded != nil {
			*recorded = canonical(*recorded, s.registry.types())
		}
	}
	s.complete()
	s.network = s.registry.provider(s.result.Spec.DefaultNetwork.Type)
	s.result.Traits = s.network.Traits()
	return nil
}

// canonical returns a copy of a specification in which names that differ from known ones only in case have the known
// spelling. Early versions of the API accepted any case, and such objects still exist.
func canonical(spec *operatorv1.NetworkSpec, types []string) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	for _, t := range types {
		respell(&out.DefaultNetwork.Type, operatorv1.NetworkType(t))
	}
	if sdn := out.DefaultNetwork.OpenShiftSDNConfig; sdn != nil {
		respell(&sdn.Mode, osv1.SDNModeSubnet, osv1.SDNModeMultitenant, osv1.SDNModeNetworkPolicy)
	}
	for i := range out.AdditionalNetworks {
		n := &out.AdditionalNetworks[i]
		respell(&n.Type, osv1.NetworkTypeRaw, osv1.NetworkTypeSimpleMacvlan)
		canonicalMacvlan(n.SimpleMacvlanConfig)
	}
	return out
}

func canonicalMacvlan(m *osv1.SimpleMacvlanConfig) {
	if m == nil {
		return
	}
	respell(&m.Mode, osv1.MacvlanModeBridge, osv1.MacvlanModePrivate, osv1.MacvlanModeVEPA, osv1.MacvlanModePassthru)
	if m.IPAMConfig != nil {
		respell(&m.IPAMConfig.Type, osv1.IPAMTypeDHCP, osv1.IPAMTypeStatic)
	}
}

// respell replaces a word by the one of names that differs only in case.
func respell[T ~string](word *T, names ...T) {
	for _, n := range names {
		if strings.EqualFold(string(*word), string(n)) {
			*word = n
			return
		}
	}
}

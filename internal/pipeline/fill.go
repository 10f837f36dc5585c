package pipeline

import (
	"context"
	"fmt"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// fill makes every default explicit, so that the record of the applied specification is complete and a new default of a
// newer operator does not change a cluster. It fills the specification that an older operator applied first: a setting
// that did not exist then compares equal to its default. On a new cluster, the result has to fit the links of the nodes.
func fill(_ context.Context, s *state) error {
	prev := s.in.Applied
	if prev != nil {
		filled, err := s.fillOne(prev, prev, s.in.Cluster)
		if err != nil {
			return fmt.Errorf("fill what is applied: %w", err)
		}
		prev = filled
	}
	filled, err := s.fillOne(s.result.Spec, prev, s.in.Cluster)
	if err != nil {
		return err
	}
	if err := s.needsHostMTU(filled, prev); err != nil {
		return err
	}
	if prev == nil {
		if errs := s.checkLinks(nil, filled); len(errs) > 0 {
			return refusals(errs, lookup{}, lookupIn(filled))
		}
	}
	s.result.Spec, s.result.Previous = filled, prev
	return nil
}

// fillOne returns a filled copy of a specification.
func (s *state) fillOne(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) (*operatorv1.NetworkSpec, error) {
	network := s.registry.provider(spec.DefaultNetwork.Type)
	traits := network.Traits()
	out := fillShared(spec, traits)
	if !standIn(network) {
		out = network.Default(out, prev.DeepCopy(), f)
	}
	for _, c := range s.registry.Components {
		if out == nil {
			break
		}
		out = c.Default(out, prev.DeepCopy(), traits, f)
	}
	if out == nil {
		return nil, fmt.Errorf("bug in the operator, please report it: network type %s or a component returned no specification", traits.Type)
	}
	return out, nil
}

// standIn reports whether a provider represents a network that the operator does not render.
func standIn(p provider.Provider) bool {
	_, foreign := p.(thirdParty)
	return foreign || p.Traits().NotBuilt != ""
}

// progressDeadline is the default time in seconds after which a rollout without progress counts as stalled. It is that of
// OpenShift's operator and of a Deployment in Kubernetes.
const progressDeadline = 600

// fillShared returns a copy with the defaults that all networks share.
func fillShared(spec *operatorv1.NetworkSpec, t provider.Traits) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if out.ManagementState == "" {
		out.ManagementState = osv1.Managed
	}
	if out.LogLevel == "" {
		out.LogLevel = osv1.Normal
	}
	if out.OperatorLogLevel == "" {
		out.OperatorLogLevel = osv1.Normal
	}
	if out.DisableMultiNetwork == nil {
		out.DisableMultiNetwork = new(false)
	}
	if out.UseMultiNetworkPolicy == nil {
		out.UseMultiNetworkPolicy = new(false)
	}
	if out.DeployKubeProxy == nil {
		out.DeployKubeProxy = new(!t.ServiceProxy)
	}
	if out.Rollout == nil {
		out.Rollout = &operatorv1.RolloutPolicy{}
	}
	if out.Rollout.ProgressDeadlineSeconds == nil {
		out.Rollout.ProgressDeadlineSeconds = new(int32(progressDeadline))
	}
	return out
}

// needsHostMTU returns ErrHostMTUUnknown if a value depends on the MTU of the nodes and that is not known yet, because filled
// values are recorded permanently. It compares the results for two MTUs, so that providers need not declare the dependency.
func (s *state) needsHostMTU(filled, prev *operatorv1.NetworkSpec) error {
	if !s.result.Traits.HostMTU || s.in.Cluster.HostMTU > 0 {
		return nil
	}
	for _, mtu := range []int{1500, 9000} {
		f := s.in.Cluster
		f.HostMTU = mtu
		other, err := s.fillOne(s.result.Spec, prev, f)
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(filled, other) {
			return ErrHostMTUUnknown
		}
	}
	return nil
}

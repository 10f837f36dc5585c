package pipeline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// The values of Refusal.Rule for conflicts between a specification and the Services of the cluster.
const (
	RuleServiceCIDR = "service-network-api-server"
	RuleUnserved    = "services-unserved"
	RuleServedTwice = "services-served-twice"
)

// ServiceProxyPath is the field that decides whether kube-proxy serves Services.
const ServiceProxyPath = "spec.deployKubeProxy"

// NeedsKubeProxy reports whether only this operator's kube-proxy serves the Services of a network type. It returns false
// for a third-party network, of which that is unknown.
func (r Registry) NeedsKubeProxy(t operatorv1.NetworkType, f facts.Cluster) bool {
	network := r.provider(t)
	return !standIn(network) && !network.Traits().ServiceProxy && len(f.Services.Proxies) == 0
}

// checkServed refuses to remove the only component that serves Services, and warns if there is none, or more than one.
func (s *state) checkServed() field.ErrorList {
	prev, next := s.result.Previous, s.result.Spec
	if others := s.in.Cluster.Services.Proxies; deploys(next) && len(others) > 0 {
		s.result.Warnings = append(s.result.Warnings, Refusal{Field: ServiceProxyPath, Rule: RuleServedTwice, New: false,
			Message: rules.ServicesServedTwice.Detail(strings.Join(others, ", "))})
		return nil
	}
	if deploys(next) || !s.registry.NeedsKubeProxy(next.DefaultNetwork.Type, s.in.Cluster) {
		return nil
	}
	if prev != nil && deploys(prev) && !s.trusted {
		return field.ErrorList{rules.KubeProxyRemoved.Forbidden(specPath.Child("deployKubeProxy"))}
	}
	s.result.Warnings = append(s.result.Warnings, Refusal{Field: ServiceProxyPath, Rule: RuleUnserved, New: false,
		Message: rules.ServicesUnserved.Detail()})
	return nil
}

// deploys reports whether a filled specification deploys kube-proxy.
func deploys(spec *operatorv1.NetworkSpec) bool {
	return spec.DeployKubeProxy != nil && *spec.DeployKubeProxy
}

// validateServiceCIDRs compares the service networks with the ranges from which the API server allocates ClusterIPs. A
// network that is in use is reported, and not refused.
func (s *state) validateServiceCIDRs(p pools) field.ErrorList {
	var errs field.ErrorList
	for _, one := range p.service {
		if one.err == nil {
			errs = append(errs, serviceMismatch(one, s.in.Cluster.Services)...)
		}
	}
	switch applied := s.in.Applied; {
	case len(errs) == 0 || applied == nil:
		return errs
	case sameServices(applied, s.result.Spec):
		s.result.Warnings = append(s.result.Warnings, refusals(errs, lookup{}, lookupIn(s.result.Spec))...)
		return nil
	case len(applied.ServiceNetwork) == len(s.result.Spec.ServiceNetwork):
		return nil // Check refuses it: except for a conversion, only a change to the networks of the API server is safe
	}
	return errs
}

// serviceMismatch refuses a service network that differs from that of the API server, if that is known.
func serviceMismatch(p pool, known facts.Services) field.ErrorList {
	if cidr := known.CIDR(p.prefix); cidr.IsValid() && cidr != p.prefix {
		return field.ErrorList{rules.ServiceCIDR.Invalid(p.cidrPath, p.text, cidr, cidr)}
	}
	a := known.Address
	if len(known.CIDRs) == 0 && a.IsValid() && a.Is4() == p.prefix.Addr().Is4() && !p.prefix.Contains(a) {
		return field.ErrorList{rules.ServiceCIDRKubernetes.Invalid(p.cidrPath, p.text, a)}
	}
	return nil
}

// CorrectedServices returns the service networks of the API server if the applied ones differ: changing to them is the
// only safe change. It returns nil if they are equal or those of the API server are unknown.
func CorrectedServices(applied []string, known facts.Services) []string {
	corrected := slices.Clone(applied)
	for i, text := range applied {
		if cidr := known.CIDR(lenient(text)); cidr.IsValid() {
			corrected[i] = cidr.String()
		}
	}
	if slices.EqualFunc(applied, corrected, sameNetwork) {
		return nil
	}
	return corrected
}

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// The rules that compare a specification with what the cluster has for Services, as Refusal.Rule names them.
const (
	RuleServiceCIDR = "service-network-api-server"
	RuleUnserved    = "services-unserved"
	RuleServedTwice = "services-served-twice"
)

// ServiceProxyPath is the field that decides whether kube-proxy serves Services.
const ServiceProxyPath = "spec.deployKubeProxy"

// NeedsKubeProxy reports whether the Services of a network of a type are served by this operator's kube-proxy alone. Of
// a third-party network it is not known, and the answer is no.
func (r Registry) NeedsKubeProxy(t operatorv1.NetworkType, f facts.Cluster) bool {
	network := r.provider(t)
	return !standIn(network) && !network.Traits().ServiceProxy && len(f.Services.Proxies) == 0
}

// checkServed refuses to remove the only component that serves Services, and warns while there is none, or more than one.
func (s *state) checkServed() field.ErrorList {
	prev, next := s.result.Previous, s.result.Spec
	if others := s.in.Cluster.Services.Proxies; deploys(next) && len(others) > 0 {
		s.result.Warnings = append(s.result.Warnings, Refusal{Field: ServiceProxyPath, Rule: RuleServedTwice, New: false,
			Message: fmt.Sprintf("%s serves Services too: both bind the same ports of nodes and change each other's rules; delete it, or set this field to false", strings.Join(others, ", "))})
		return nil
	}
	if deploys(next) || !s.registry.NeedsKubeProxy(next.DefaultNetwork.Type, s.in.Cluster) {
		return nil
	}
	if prev != nil && deploys(prev) && !s.trusted {
		return forbid(specPath.Child("deployKubeProxy"), RuleUnserved,
			Unserved+"; set it back to true, or deploy another service proxy first")
	}
	s.result.Warnings = append(s.result.Warnings, Refusal{Field: ServiceProxyPath, Rule: RuleUnserved, New: false,
		Message: "no component serves Services: new connections to Services fail; set it to true, or deploy another service proxy"})
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
		if detail := serviceMismatch(one, s.in.Cluster.Services); one.err == nil && detail != "" {
			errs = append(errs, field.Invalid(one.cidrPath, one.text, detail).WithOrigin(RuleServiceCIDR))
		}
	}
	switch applied := s.in.Applied; {
	case len(errs) == 0 || applied == nil:
		return errs
	case sameServices(applied, s.result.Spec):
		s.result.Warnings = append(s.result.Warnings, refusals(errs, lookup{}, lookupIn(s.result.Spec))...)
		return nil
	case len(applied.ServiceNetwork) == len(s.result.Spec.ServiceNetwork):
		return nil // Check refuses it: of all changes but a conversion, that to the networks of the API server alone is safe
	}
	return errs
}

// serviceMismatch says why a service network is not the one of the API server; it is empty if it is, or that is not known.
func serviceMismatch(p pool, known facts.Services) string {
	if cidr := known.CIDR(p.prefix); cidr.IsValid() && cidr != p.prefix {
		return fmt.Sprintf("is not the Service CIDR of the API server, which is %s (ServiceCIDR kubernetes); write %s", cidr, cidr)
	}
	a := known.Address
	if len(known.CIDRs) == 0 && a.IsValid() && a.Is4() == p.prefix.Addr().Is4() && !p.prefix.Contains(a) {
		return fmt.Sprintf("does not contain %s, the ClusterIP of the Service default/kubernetes; write the Service CIDR of the API server (its flag --service-cluster-ip-range)", a)
	}
	return ""
}

// CorrectedServices returns the service networks that the API server has, if those that are applied are others: the one
// change of them that is safe. It is nil if they are right, or nothing is known.
func CorrectedServices(applied []string, known facts.Services) []string {
	right := slices.Clone(applied)
	for i, text := range applied {
		if cidr := known.CIDR(lenient(text)); cidr.IsValid() {
			right[i] = cidr.String()
		}
	}
	if slices.EqualFunc(applied, right, sameNetwork) {
		return nil
	}
	return right
}

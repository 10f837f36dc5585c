package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// RuleLinks is the Refusal.Rule for an MTU that the links of nodes do not carry. It cannot be acknowledged.
const RuleLinks = "mtu-links"

// RuleInterfaces is the Refusal.Rule for an interface that no node has. It cannot be acknowledged.
const RuleInterfaces = "interface-missing"

// checkLinks refuses an MTU that the links of the nodes do not carry and interfaces that no node has. Errors that the applied
// specification has as well are skipped: refusing them would block every other edit, and the conditions report the nodes.
// The target of a migration is checked when the migration is requested, not while it runs.
func (s *state) checkLinks(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	own, ok := s.network.(provider.LinkChecker)
	if !ok || s.trusted || prev != nil && mtuMigration(next) != nil {
		return nil
	}
	errs := own.CheckLinks(next, s.in.Cluster)
	if prev == nil || len(errs) == 0 || prev.DefaultNetwork.Type != next.DefaultNetwork.Type {
		return errs
	}
	before := own.CheckLinks(prev, s.in.Cluster)
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(before, func(b *field.Error) bool { return b.Error() == e.Error() })
	})
}

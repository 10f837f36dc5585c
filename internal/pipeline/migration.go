package pipeline

import (
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The minimum MTUs of IPv4 and IPv6 (RFC 791, RFC 8200), and the maximum that the API accepts.
const (
	LeastMTU4 = 576
	LeastMTU6 = 1280
	MostMTU   = 65535
)

var migrationPath = specPath.Child("migration", "mtu")

// validateMTUMigration checks a requested MTU migration without the applied specification.
func validateMTUMigration(m *osv1.MTUMigration, own provider.MTUMigrator, spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	if m.Machine != nil {
		errs = append(errs, rules.MigrationMachines.Forbidden(migrationPath.Child("machine")))
	}
	at := migrationPath.Child("network")
	if m.Network == nil || m.Network.From == nil || m.Network.To == nil {
		return append(errs, rules.MigrationBothEnds.Required(at))
	}
	from, to, least := int(*m.Network.From), int(*m.Network.To), LeastMTU4
	for _, n := range spec.ClusterNetwork {
		if strings.Contains(n.CIDR, ":") {
			least = LeastMTU6
		}
	}
	switch {
	case to < least || to > MostMTU:
		errs = append(errs, rules.MigrationRange.Invalid(at.Child("to"), to, least))
	case from == to:
		errs = append(errs, rules.MigrationSame.Invalid(at.Child("to"), to))
	}
	if mtu, _ := own.PodMTU(spec); mtu != 0 && mtu != from && mtu != to {
		errs = append(errs, rules.MigrationFitting.Invalid(own.MTUPath(), mtu, from, to))
	}
	return errs
}

// mtuMigration returns the MTU migration that a specification requests; nil if there is none.
func mtuMigration(spec *operatorv1.NetworkSpec) *osv1.MTUMigration {
	if spec.Migration == nil {
		return nil
	}
	return spec.Migration.MTU
}

// checkMigration checks a requested MTU migration against the applied specification and the MTU of links. Until it has
// ended, it refuses every other change that needs a rollout, so that only one thing changes at a time.
func (c change) checkMigration(own provider.MTUMigrator, f facts.Cluster) field.ErrorList {
	previous, requested := mtuMigration(c.prev), mtuMigration(c.next)
	if previous == nil && requested == nil && !f.MTUMigration.Active {
		return nil
	}
	errs := c.checkNothingElse(own)
	if before, _ := own.PodMTU(c.prev); requested == nil {
		if after, _ := own.PodMTU(c.next); after != before {
			errs = append(errs, rules.MigrationEnds.Forbidden(own.MTUPath(), before, after, before))
		}
	}
	if requested == nil || equality.Semantic.DeepEqual(previous, requested) {
		return errs
	}
	applied, overhead := own.PodMTU(c.prev)
	from, to := int(*requested.Network.From), int(*requested.Network.To)
	at := migrationPath.Child("network")
	reversed := previous != nil && previous.Network != nil && previous.Network.From != nil && previous.Network.To != nil && int(*previous.Network.From) == to && int(*previous.Network.To) == from
	switch {
	case reversed: // a rollback
	case previous != nil && !f.MTUMigration.Reached(applied):
		errs = append(errs, rules.MigrationTurn.Forbidden(at))
	case from != applied:
		errs = append(errs, rules.MigrationFrom.Invalid(at.Child("from"), from, applied))
	}
	if f.LinkMTU() > 0 && to > from && to+overhead > f.LinkMTU() {
		errs = append(errs, rules.MigrationLinks.Invalid(at.Child("to"), to, f.LinkMTU()-overhead))
	}
	return errs
}

// checkNothingElse refuses changes that are not live, except those of the pools, which have their own rule.
func (c change) checkNothingElse(own provider.MTUMigrator) field.ErrorList {
	var errs field.ErrorList
	differences("spec", plain(c.prev), plain(c.next), func(path string, _, _ any) {
		for _, allowed := range []string{"spec.migration", own.MTUPath().String(), "spec.clusterNetwork", "spec.serviceNetwork"} {
			if within(path, allowed) {
				return
			}
		}
		if fieldOf(c.fields, path).Class == provider.Live {
			return
		}
		errs = append(errs, rules.DuringMigration.Forbidden(pathOf(path)))
	})
	return errs
}

// pathOf returns a path that prints as text.
func pathOf(text string) *field.Path {
	return field.NewPath(text)
}

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

// The least MTU that IPv4 and IPv6 work with (RFC 791, RFC 8200), and the most that the API takes.
const (
	LeastMTU4 = 576
	LeastMTU6 = 1280
	MostMTU   = 65535
)

var migrationPath = specPath.Child("migration", "mtu")

// validateMTUMigration checks the announcement of a change of the MTU by itself.
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

// mtuMigration returns what a specification announces; nil if that is nothing.
func mtuMigration(spec *operatorv1.NetworkSpec) *osv1.MTUMigration {
	if spec.Migration == nil {
		return nil
	}
	return spec.Migration.MTU
}

// checkMigration checks the announcement of a change of the MTU against what is applied and what links carry, and refuses
// everything else that needs a rollout from its beginning to its end, so that at every moment one thing changes.
func (c change) checkMigration(own provider.MTUMigrator, f facts.Cluster) field.ErrorList {
	was, is := mtuMigration(c.prev), mtuMigration(c.next)
	if was == nil && is == nil && !f.MTUMigration.Active {
		return nil
	}
	errs := c.checkNothingElse(own)
	if before, _ := own.PodMTU(c.prev); is == nil {
		if after, _ := own.PodMTU(c.next); after != before {
			errs = append(errs, rules.MigrationEnds.Forbidden(own.MTUPath(), before, after, before))
		}
	}
	if is == nil || equality.Semantic.DeepEqual(was, is) {
		return errs
	}
	applied, overhead := own.PodMTU(c.prev)
	from, to := int(*is.Network.From), int(*is.Network.To)
	at := migrationPath.Child("network")
	turned := was != nil && was.Network != nil && was.Network.From != nil && was.Network.To != nil && int(*was.Network.From) == to && int(*was.Network.To) == from
	switch {
	case turned: // the way back
	case was != nil && !f.MTUMigration.Reached(applied):
		errs = append(errs, rules.MigrationTurn.Forbidden(at))
	case from != applied:
		errs = append(errs, rules.MigrationFrom.Invalid(at.Child("from"), from, applied))
	}
	if f.LinkMTU() > 0 && to > from && to+overhead > f.LinkMTU() {
		errs = append(errs, rules.MigrationLinks.Invalid(at.Child("to"), to, f.LinkMTU()-overhead))
	}
	return errs
}

// checkNothingElse refuses changes that are not live, besides those of the pools, which have their own sentence.
func (c change) checkNothingElse(own provider.MTUMigrator) field.ErrorList {
	var errs field.ErrorList
	differences("spec", plain(c.prev), plain(c.next), func(path string, _, _ any) {
		for _, ours := range []string{"spec.migration", own.MTUPath().String(), "spec.clusterNetwork", "spec.serviceNetwork"} {
			if within(path, ours) {
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

// pathOf is a path that prints as a text.
func pathOf(text string) *field.Path {
	return field.NewPath(text)
}

package pipeline

import (
	"fmt"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
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
		errs = append(errs, field.Forbidden(migrationPath.Child("machine"),
			NoMachines).WithOrigin(RuleMigrationMTU))
	}
	at := migrationPath.Child("network")
	if m.Network == nil || m.Network.From == nil || m.Network.To == nil {
		return append(errs, field.Required(at, "from and to are both needed: the MTU that is applied, and the one that is wanted").WithOrigin(RuleMigrationMTU))
	}
	from, to, least := int(*m.Network.From), int(*m.Network.To), LeastMTU4
	for _, n := range spec.ClusterNetwork {
		if strings.Contains(n.CIDR, ":") {
			least = LeastMTU6
		}
	}
	switch {
	case to < least || to > MostMTU:
		errs = append(errs, field.Invalid(at.Child("to"), to, fmt.Sprintf("is out of range; it must be %d to %d", least, MostMTU)).WithOrigin(RuleMigrationMTU))
	case from == to:
		errs = append(errs, field.Invalid(at.Child("to"), to, SameMTU).WithOrigin(RuleMigrationMTU))
	}
	if mtu, _ := own.PodMTU(spec); mtu != 0 && mtu != from && mtu != to {
		errs = append(errs, field.Invalid(own.MTUPath(), mtu, fmt.Sprintf("must be left out, or be %d or %d, while spec.migration.mtu goes from the one to the other", from, to)).WithOrigin(RuleMigrationMTU))
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
			errs = append(errs, forbid(own.MTUPath(), RuleDuringMigration, "cannot be changed from %d to %d while a migration ends or goes back; put back %d, or leave it out", before, after, before)...)
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
		errs = append(errs, forbid(at, RuleDuringMigration, "cannot be changed to %d -> %d during a migration; "+TurnBack, from, to)...)
	case from != applied:
		errs = append(errs, field.Invalid(at.Child("from"), from, fmt.Sprintf("is not the MTU that is applied; set it to %d", applied)).WithOrigin(RuleMigrationMTU))
	}
	if f.LinkMTU() > 0 && to > from && to+overhead > f.LinkMTU() {
		errs = append(errs, field.Invalid(at.Child("to"), to, fmt.Sprintf("needs links of at least %d (the network adds %d), and a node has one of %d; use %d or less, "+AskAgain,
			to+overhead, overhead, f.LinkMTU(), f.LinkMTU()-overhead)).WithOrigin(RuleMigrationMTU))
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
		errs = append(errs, forbid(pathOf(path), RuleDuringMigration, "cannot be changed during an MTU migration; put it back, and change it once spec.migration is removed and the migration has ended")...)
	})
	return errs
}

// pathOf is a path that prints as a text.
func pathOf(text string) *field.Path {
	return field.NewPath(text)
}

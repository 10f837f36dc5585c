package pipeline

import (
	"context"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/suggest"
)

// The values of Refusal.Rule that every network has.
const (
	RuleTypeRequired     = "type-required"
	RuleUnknownType      = "unknown-type"
	RuleNotBuilt         = "not-built"
	RuleForeignSettings  = "foreign-settings"
	RuleManagementState  = "management-state"
	RuleLogLevel         = "log-level"
	RuleMigrationType    = "migration-type"
	RuleMigrationFeature = "migration-features"
	RuleMigrationMTU     = "migration-mtu"
	RuleServiceRequired  = "service-network-required"
	RuleServiceFamilies  = "service-network-families"
	RuleClusterRequired  = "cluster-network-required"
	RuleClusterCount     = "cluster-network-count"
	RuleCIDRSyntax       = "cidr-syntax"
	RuleCIDRHostBits     = "cidr-host-bits"
	RuleCIDRSpecial      = "cidr-special"
	RuleServiceSize      = "service-network-size"
	RulePoolOverlap      = "pool-overlap"
	RuleHostPrefix       = "hostprefix-range"
	RuleFamilySymmetry   = "family-symmetry"
	RuleIPv6             = "ipv6-unsupported"
	RuleDualStack        = "dual-stack-unsupported"
	RuleNodeAddress      = "node-address-in-pool"
	RulePoolCapacity     = "pool-capacity"
	RuleNodeFamily       = "node-ip-family"
	RuleDeadline         = "progress-deadline-range"
	RuleNoEffect         = "no-effect"
	RuleWorkloadName     = "workload-name"
	RuleWorkloadPlace    = "workload-placement"
	RuleWorkloadResource = "workload-resources"
	RuleWorkloadTolerate = "workload-tolerations"
	RuleWorkloadPriority = "workload-priority-class"
	RuleWorkloadEnv      = "workload-env"
	RuleWorkloadUpdate   = "workload-update-strategy"
)

var (
	specPath    = field.NewPath("spec")
	typePath    = specPath.Child("defaultNetwork", "type")
	clusterPath = specPath.Child("clusterNetwork")
	servicePath = specPath.Child("serviceNetwork")
)

// typoDistance is the maximum edit distance at which a name counts as a misspelled known name, and not as that of a
// third-party network.
const typoDistance = 2

// validate finds all errors in the specification: in the fields that all networks share, in the settings of the
// provider, and in those of the components. It also refuses networks that are not implemented yet.
func validate(_ context.Context, s *state) error {
	spec, traits := s.result.Spec, s.result.Traits
	s.result.Ineffective = s.registry.ineffective(spec)
	errs := s.registry.validateNotBuilt(spec, traits)
	if !s.trusted {
		pools := readPools(spec)
		errs = append(errs, s.validateType(spec)...)
		errs = append(errs, validateSettings(spec)...)
		errs = append(errs, validateLevels(spec)...)
		errs = append(errs, validateMigration(spec, traits, s.network)...)
		errs = append(errs, validateRollout(spec)...)
		errs = append(errs, s.registry.validateWorkloads(spec)...)
		errs = append(errs, s.validateMissing(pools)...)
		errs = append(errs, validatePools(pools, traits)...)
		s.result.Advice = s.advise(pools)
		errs = append(errs, s.validateNodes(pools)...)
		errs = append(errs, s.validateServiceCIDRs(pools)...)
		errs = append(errs, s.network.Validate(spec)...)
		for _, c := range s.registry.Components {
			errs = append(errs, c.Validate(spec, traits)...)
		}
		s.nameSources(errs)
	}
	if len(errs) == 0 {
		return nil
	}
	return refusals(errs, lookup{}, lookupIn(spec))
}

// validateRollout checks spec.rollout.
func validateRollout(spec *operatorv1.NetworkSpec) field.ErrorList {
	if spec.Rollout == nil || spec.Rollout.ProgressDeadlineSeconds == nil {
		return nil
	}
	if s := *spec.Rollout.ProgressDeadlineSeconds; s < 30 || s > 86400 {
		return field.ErrorList{rules.ProgressDeadline.Invalid(specPath.Child("rollout", "progressDeadlineSeconds"), s)}
	}
	return nil
}

func (r Registry) validateNotBuilt(spec *operatorv1.NetworkSpec, t provider.Traits) field.ErrorList {
	if t.NotBuilt == "" {
		return nil
	}
	return field.ErrorList{rules.NotBuilt.Invalid(typePath, spec.DefaultNetwork.Type, t.NotBuilt, strings.Join(r.built(), ", "))}
}

// validateType refuses a type that is missing, and one that looks like a known one misspelled. Any other unknown
// name stands for a network that a third party installs.
func (s *state) validateType(spec *operatorv1.NetworkSpec) field.ErrorList {
	name := string(spec.DefaultNetwork.Type)
	if strings.TrimSpace(name) == "" {
		return field.ErrorList{s.typeRequired()}
	}
	if _, unknown := s.network.(thirdParty); !unknown {
		return nil
	}
	meant, ok := suggest.Closest(name, s.registry.types(), typoDistance)
	if !ok {
		return nil
	}
	return field.ErrorList{rules.UnknownType.Invalid(typePath, name, meant)}
}

// validateSettings refuses the settings of other network types, since they would have no effect.
func validateSettings(spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	n := spec.DefaultNetwork
	for _, s := range []struct {
		of    operatorv1.NetworkType
		field string
		set   bool
	}{
		{operatorv1.NetworkTypeOpenShiftSDN, "openshiftSDNConfig", n.OpenShiftSDNConfig != nil},
		{operatorv1.NetworkTypeOVNKubernetes, "ovnKubernetesConfig", n.OVNKubernetesConfig != nil},
		{operatorv1.NetworkTypeFlannel, "flannelConfig", n.FlannelConfig != nil},
		{operatorv1.NetworkTypeKuryr, "kuryrConfig", n.KuryrConfig != nil},
		{operatorv1.NetworkTypeNuage, "nuageConfig", n.NuageConfig != nil},
		{operatorv1.NetworkTypeContiv, "contivConfig", n.ContivConfig != nil},
	} {
		if s.set && s.of != n.Type {
			errs = append(errs, rules.ForeignSettings.Forbidden(specPath.Child("defaultNetwork", s.field), shorten(string(n.Type)), s.of))
		}
	}
	return errs
}

// validateLevels checks the management state and the log levels, which all operators of OpenShift share.
func validateLevels(spec *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	switch spec.ManagementState {
	case "", osv1.Managed, osv1.Unmanaged, osv1.Force:
	case osv1.Removed:
		errs = append(errs, rules.ManagementRemoved.Invalid(specPath.Child("managementState"), spec.ManagementState))
	default:
		errs = append(errs, rules.ManagementState.Invalid(specPath.Child("managementState"), spec.ManagementState))
	}
	errs = append(errs, validateLogLevel("logLevel", spec.LogLevel)...)
	return append(errs, validateLogLevel("operatorLogLevel", spec.OperatorLogLevel)...)
}

func validateLogLevel(name string, level osv1.LogLevel) field.ErrorList {
	switch level {
	case "", osv1.Normal, osv1.Debug, osv1.Trace, osv1.TraceAll:
		return nil
	}
	return field.ErrorList{rules.LogLevel.Invalid(specPath.Child(name), level)}
}

// validateMigration refuses migrations that the operator does not support.
func validateMigration(spec *operatorv1.NetworkSpec, t provider.Traits, network provider.Provider) field.ErrorList {
	m := spec.Migration
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	path := specPath.Child("migration")
	if m.NetworkType != "" {
		errs = append(errs, rules.MigrationType.Forbidden(path.Child("networkType")))
	}
	if m.Mode != "" {
		errs = append(errs, rules.MigrationType.Forbidden(path.Child("mode")))
	}
	if m.Features != nil {
		errs = append(errs, rules.MigrationFeatures.Forbidden(path.Child("features")))
	}
	if m.MTU != nil && !t.MTUMigration {
		errs = append(errs, rules.MigrationUnsupported.Forbidden(path.Child("mtu"), t.Type))
	}
	if own, ok := network.(provider.MTUMigrator); ok && m.MTU != nil && t.MTUMigration {
		errs = append(errs, validateMTUMigration(m.MTU, own, spec)...)
	}
	return errs
}

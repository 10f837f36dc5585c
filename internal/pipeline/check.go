package pipeline

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The values of Refusal.Rule for changes of the applied specification.
const (
	RuleTypeChange          = "type-change"
	RuleServiceChange       = "service-network-change"
	RuleClusterChange       = "cluster-network-change"
	RuleClusterShrink       = "cluster-network-shrink"
	RuleClusterOrder        = "cluster-network-order"
	RuleHostPrefixChange    = "hostprefix-change"
	RuleDualStackConversion = "dual-stack-conversion"
	RuleDuringMigration     = "change-during-migration"
)

// change is a change of the applied specification. Both specifications are filled.
type change struct {
	prev, next *operatorv1.NetworkSpec
	traits     provider.Traits // of next
	fields     []provider.Field
	// active is true while an MTU migration or its rollback runs.
	active   bool
	platform string
	services facts.Services
}

// check refuses changes that would interrupt or misdirect traffic of a network in use. It reports every unsafe change
// with the applied and the desired value; all other changes are safe.
func check(_ context.Context, s *state) error {
	prev, next := s.result.Previous, s.result.Spec
	unserved := s.checkServed()
	if prev == nil || s.trusted {
		return nil
	}
	c := change{prev: prev, next: next, traits: s.result.Traits, platform: s.in.Cluster.Platform, services: s.in.Cluster.Services, fields: s.registry.Fields(next.DefaultNetwork.Type), active: s.in.Cluster.MTUMigration.Active}
	errs := c.checkType()
	errs = append(errs, c.checkPools()...)
	errs = append(errs, unserved...)
	if prev.DefaultNetwork.Type == next.DefaultNetwork.Type {
		errs = append(errs, s.network.CheckChange(prev, next)...)
		errs = append(errs, s.checkLinks(prev, next)...)
		if own, ok := s.network.(provider.MTUMigrator); ok {
			errs = append(errs, c.checkMigration(own, s.in.Cluster)...)
		}
	}
	for _, component := range s.registry.Components {
		errs = append(errs, component.CheckChange(prev, next)...)
	}
	return s.decide(refusals(errs, lookupIn(prev), lookupIn(next)))
}

// decide records all changes and returns the refused ones. Changes that are disruptive but possible are accepted once
// they are acknowledged.
func (s *state) decide(refused Refusals) error {
	r := &s.result
	r.Changes = changesOf(r.Previous, r.Spec, s.registry.Fields(r.Spec.DefaultNetwork.Type), refused)
	if decisionOf(r.Changes) == NeedsAcknowledgement {
		r.Acknowledgement = acknowledgement(s.in.Revision, r.Changes)
	}
	switch {
	case len(refused) == 0:
		return nil
	case r.Acknowledgement != "" && r.Acknowledgement == s.in.Acknowledged:
		r.Acknowledged = true
		return nil
	}
	for i := range refused {
		refused[i].Acknowledge = r.Acknowledgement
	}
	return refused
}

func (c change) checkType() field.ErrorList {
	from, to := c.prev.DefaultNetwork.Type, c.next.DefaultNetwork.Type
	if from == to {
		return nil
	}
	return field.ErrorList{fieldOf(c.fields, typePath.String()).Forbid(typePath)}
}

// migrating reports whether a migration is requested or runs: nothing else may change then.
func (c change) migrating() bool {
	return c.active || mtuMigration(c.prev) != nil || mtuMigration(c.next) != nil
}

// checkPools compares the address pools. A conversion between single-stack and dual-stack changes both lists and has
// its own rules.
func (c change) checkPools() field.ErrorList {
	if samePools(c.prev, c.next) {
		return nil
	}
	before, after := len(c.prev.ServiceNetwork), len(c.next.ServiceNetwork)
	if !c.migrating() && (before == 1 && after == 2 || before == 2 && after == 1) {
		return c.checkConversion()
	}
	return append(c.checkService(), c.checkCluster()...)
}

func (c change) checkService() field.ErrorList {
	if sameServices(c.prev, c.next) {
		return nil
	}
	if c.migrating() {
		return field.ErrorList{rules.DuringMigration.Forbidden(servicePath)}
	}
	switch corrected := CorrectedServices(c.prev.ServiceNetwork, c.services); {
	case corrected == nil:
		return field.ErrorList{rules.ServiceNetworkChange.Forbidden(servicePath)}
	case slices.EqualFunc(corrected, c.next.ServiceNetwork, sameNetwork):
		return nil // Services have addresses of the API server's range, not of the one that was written before
	default:
		return field.ErrorList{rules.ServiceNetworkCorrect.Forbidden(servicePath, list(corrected))}
	}
}

// list formats networks for a sentence.
func list(networks []string) string {
	if len(networks) == 0 {
		return "nothing"
	}
	return some(networks)
}

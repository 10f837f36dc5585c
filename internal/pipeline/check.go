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

// The rules about changes of what is applied, as Refusal.Rule names them.
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

// change is a change of what is applied: both filled.
type change struct {
	prev, next *operatorv1.NetworkSpec
	traits     provider.Traits // of next
	fields     []provider.Field
	// active is true while the nodes go from one MTU to another, or back.
	active   bool
	platform string
	services facts.Services
}

// check refuses changes that would cut or mislead traffic of a network in use. Every unsafe one is told, with what
// is applied and what is wanted. Whatever is not told is safe.
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
	return s.judge(refusals(errs, lookupIn(prev), lookupIn(next)))
}

// judge lists all changes, and returns those that are refused. What is disruptive but possible is let through once it
// is acknowledged.
func (s *state) judge(refused Refusals) error {
	r := &s.result
	r.Changes = changesOf(r.Previous, r.Spec, s.registry.Fields(r.Spec.DefaultNetwork.Type), refused)
	if verdictOf(r.Changes) == NeedsAcknowledgement {
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

// migrating reports whether a migration is announced, or goes on: nothing else may then move.
func (c change) migrating() bool {
	return c.active || mtuMigration(c.prev) != nil || mtuMigration(c.next) != nil
}

// checkPools compares the address pools. Converting between one family and two changes both lists, and has rules of
// its own.
func (c change) checkPools() field.ErrorList {
	if samePools(c.prev, c.next) {
		return nil
	}
	was, is := len(c.prev.ServiceNetwork), len(c.next.ServiceNetwork)
	if !c.migrating() && (was == 1 && is == 2 || was == 2 && is == 1) {
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
	switch right := CorrectedServices(c.prev.ServiceNetwork, c.services); {
	case right == nil:
		return field.ErrorList{rules.ServiceNetworkChange.Forbidden(servicePath)}
	case slices.EqualFunc(right, c.next.ServiceNetwork, sameNetwork):
		return nil // Services have addresses of the API server's range, not of the one that was written before
	default:
		return field.ErrorList{rules.ServiceNetworkCorrect.Forbidden(servicePath, list(right))}
	}
}

// list writes networks as a sentence has them.
func list(networks []string) string {
	if len(networks) == 0 {
		return "nothing"
	}
	return some(networks)
}

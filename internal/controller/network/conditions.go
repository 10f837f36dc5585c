package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/rollout"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Reasons of conditions, some of which are the same as in OpenShift.
const (
	reasonInvalid    = "InvalidOperatorConfig"
	reasonCorrupt    = "CorruptAppliedConfig"
	reasonRecord     = "RecordError"
	reasonBootstrap  = "BootstrapError"
	reasonRender     = "RenderError"
	reasonApply      = "ApplyOperatorConfig"
	reasonWaiting    = "RenderProgressing"
	reasonWaitingMTU = "WaitingForNodeMTU"
	reasonUnmanaged  = "Unmanaged"
	reasonPaused     = "Paused"
	reasonNotServed  = "NotServed"
	reasonPartly     = "PartlyServed"
	reasonPools      = "PoolsInUse"
	reasonUnserved   = "ServicesUnserved"
	reasonTwice      = "ServicesServedTwice"
	reasonServices   = "ServiceNetworkWrong"
	reasonMigration  = "NetworkMigrationInProgress"
	reasonAnnotation = "AnnotationIgnored"
	reasonNoEffect   = "FieldWithoutEffect"
)

// componentPools is the component of findings about address pools. Pools that do not fit the nodes are no failure of the network's
// components, and do not block changes.
const componentPools = "AddressPools"

// componentServices is the component of findings about Services, which are no failure of the network's components.
const componentServices = "Services"

// eventKept is the reason of the event for objects that are kept.
const eventKept = "ObjectsKept"

// findings returns the findings of a reconcile. err is the error of run.
func (r *reconciled) findings(c *Controller, err error) []status.Finding {
	var found []status.Finding
	switch {
	case pipeline.Paused(r.network):
		found = append(found, status.Finding{Effect: status.NotUpgradeable, Reason: reasonPaused,
			Message: fmt.Sprintf("the annotation %s is true%s: nothing is changed until it is removed (cno resume)", pipeline.PausedAnnotation, pausedBy(r.network))})
	case !r.managed:
		found = append(found, status.Finding{Effect: status.NotUpgradeable, Reason: reasonUnmanaged,
			Message: "spec.managementState is Unmanaged: nothing is changed, neither for the specification nor for a new version"})
	}
	if problems := pipeline.AnnotationProblems(r.network.Annotations); len(problems) > 0 {
		found = append(found, status.Finding{Effect: status.Noted, Reason: reasonAnnotation, Message: strings.Join(problems, "; ")})
	}
	if fields := r.result.Ineffective; len(fields) > 0 {
		found = append(found, status.Finding{Effect: status.Noted, Reason: reasonNoEffect, Message: fields.Error()})
	}
	found = append(found, r.recordFindings(err)...)
	found = append(found, r.refusalFindings()...)
	found = append(found, r.migrationFindings(c.Pipeline.Registry)...)
	found = append(found, r.poolFindings()...)
	found = append(found, r.serviceFindings()...)
	found = append(found, r.turnFindings()...)
	found = append(found, r.renderFindings()...)
	found = append(found, r.applyFindings()...)
	return append(found, c.conflicts.findings()...)
}

// pausedBy describes who paused the operator, when and why, if the annotations exist.
func pausedBy(n *operatorv1.Network) string {
	var parts []string
	for _, a := range []struct{ before, name string }{{"by ", pipeline.PausedByAnnotation}, {"since ", pipeline.PausedAtAnnotation}, {"", pipeline.PausedReasonAnnotation}} {
		if value := n.Annotations[a.name]; value != "" {
			parts = append(parts, a.before+value)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// recordFindings reports an unreadable or unwritable record.
func (r *reconciled) recordFindings(err error) []status.Finding {
	switch {
	case r.corrupt != nil && r.memory.record.Baseline() != nil:
		return degraded("", reasonCorrupt, fmt.Sprintf("The operator repairs the objects of %s, and applies no change: %v", r.keptRevision(), r.corrupt))
	case r.corrupt != nil:
		return degraded("", reasonCorrupt, fmt.Sprintf("Nothing is changed: %v", r.corrupt))
	case err != nil && r.applyErr == nil && r.failed == nil:
		return transient("", reasonRecord, fmt.Sprintf("Cannot observe the cluster: %v", err))
	}
	return nil
}

// keptRevision names the configuration that is repaired while the record is corrupt.
func (r *reconciled) keptRevision() string {
	if r.memory.record.Unfinished() {
		return "the rollout that was under way"
	}
	return fmt.Sprintf("revision %d in %s", r.memory.record.Number, applied.HistoryConfigMapName)
}

// refusalFindings reports an invalid specification or a refused change.
func (r *reconciled) refusalFindings() []status.Finding {
	err, suffix := r.result.Refused, " Until then the last applied configuration stays active."
	if err == nil {
		err, suffix = r.failed, ""
	}
	if err == nil || len(r.result.Outputs) > 0 && r.result.Refused == nil {
		return nil
	}
	if errors.Is(err, pipeline.ErrHostMTUUnknown) {
		return []status.Finding{{Effect: status.Progressing, Reason: reasonWaitingMTU,
			Message: "Waiting for the MTU of the nodes, which determines that of the network"}}
	}
	text := err.Error()
	if refusals := pipeline.RefusalsOf(err); refusals != nil {
		text = refusals.Error()
	}
	message := fmt.Sprintf("The operator configuration is invalid (%s). Use 'kubectl edit network.operator.openshift.io cluster' to fix.%s", text, suffix)
	if pipeline.StageOf(err) == pipeline.Check {
		message = fmt.Sprintf("Not applying unsafe configuration change: %s. Use 'kubectl edit network.operator.openshift.io cluster' to undo the change.%s", text, suffix)
	}
	return degraded("", reasonInvalid, message)
}

// turnFindings reports held changes and rollbacks.
func (r *reconciled) turnFindings() []status.Finding {
	switch {
	case r.turn.Reason == rollout.ReasonRolledBack:
		return degraded("", r.turn.Reason, r.turn.Message)
	case r.turn.Reason != "":
		return []status.Finding{
			{Effect: status.Progressing, Reason: r.turn.Reason, Message: r.turn.Message},
			{Effect: status.NotUpgradeable, Reason: r.turn.Reason, Message: r.turn.Message},
		}
	}
	return nil
}

// migrationFindings reports a migration of a third party's network, for which nodes restart as for an upgrade. Networks that migrate the
// MTU themselves report it with the phase.
func (r *reconciled) migrationFindings(registry pipeline.Registry) []status.Finding {
	if r.result.Spec == nil || r.result.Spec.Migration == nil || r.result.Spec.Migration.MTU == nil {
		return nil
	}
	if registry.MTUMigrator(r.result.Traits.Type) != nil {
		return nil
	}
	return []status.Finding{{Effect: status.NotUpgradeable, Reason: reasonMigration,
		Message: "the MTU of the network is being migrated; an upgrade is blocked until the migration has finished and spec.migration is removed"}}
}

// poolFindings reports pools in use that do not fit the nodes, and would be refused as new pools.
func (r *reconciled) poolFindings() []status.Finding {
	pools := r.warnings(func(rule string) bool {
		return !slices.Contains([]string{pipeline.RuleUnserved, pipeline.RuleServedTwice, pipeline.RuleServiceCIDR}, rule)
	})
	if len(pools) == 0 {
		return nil
	}
	return []status.Finding{{Component: componentPools, Effect: status.Degraded, Reason: reasonPools, Message: pools.Error(), Aside: true, Immediate: true}}
}

// serviceFindings reports Services that no component or more than one serves, and Service CIDRs that differ from the API server's.
func (r *reconciled) serviceFindings() []status.Finding {
	var found []status.Finding
	if unserved := r.warnings(func(rule string) bool { return rule == pipeline.RuleUnserved }); len(unserved) > 0 {
		found = append(found, status.Finding{Component: componentServices, Effect: status.Degraded, Reason: reasonUnserved, Message: unserved.Error(), Immediate: true})
	}
	if twice := r.warnings(func(rule string) bool { return rule == pipeline.RuleServedTwice }); len(twice) > 0 {
		found = append(found, status.Finding{Component: componentServices, Effect: status.Degraded, Reason: reasonTwice, Message: twice.Error(), Aside: true, Immediate: true})
	}
	if wrong := r.warnings(func(rule string) bool { return rule == pipeline.RuleServiceCIDR }); len(wrong) > 0 {
		found = append(found, status.Finding{Component: componentServices, Effect: status.Degraded, Reason: reasonServices, Message: wrong.Error(), Aside: true, Immediate: true})
	}
	return found
}

// warnings returns the warnings of the pipeline whose rule matches.
func (r *reconciled) warnings(about func(rule string) bool) pipeline.Refusals {
	var found pipeline.Refusals
	for _, w := range r.result.Warnings {
		if about(w.Rule) {
			found = append(found, w)
		}
	}
	return found
}

// renderFindings reports components that cannot be rendered, wait, or are partly served, and the notes of the others.
func (r *reconciled) renderFindings() []status.Finding {
	var found []status.Finding
	for _, o := range r.result.Outputs {
		switch {
		case o.Err != nil && pipeline.StageOf(o.Err) == pipeline.Bootstrap:
			found = append(found, transient(o.Name, reasonBootstrap, fmt.Sprintf("Internal error while reconciling platform networking resources: %v", o.Err))...)
		case o.Err != nil:
			found = append(found, degraded(o.Name, reasonRender, fmt.Sprintf("Internal error while rendering operator configuration: %v", o.Err))...)
		case o.Output.Waiting != "":
			found = append(found, status.Finding{Component: o.Name, Effect: status.Progressing, Reason: reasonWaiting, Message: "Waiting to render manifests: " + o.Output.Waiting})
		}
		if problems := o.Output.Problems; len(problems) > 0 {
			found = append(found, status.Finding{Component: o.Name, Effect: status.Degraded, Reason: reasonPartly, Message: status.Sentence(problems, ""), Aside: true, Immediate: true})
		}
		for _, f := range o.Output.Failures {
			found = append(found, status.Finding{Component: o.Name, Effect: status.Degraded, Reason: f.Reason, Message: f.Message, Immediate: true})
		}
		for _, n := range o.Output.Notes {
			found = append(found, status.Finding{Component: o.Name, Effect: status.Noted, Reason: n.Reason, Message: n.Message})
		}
		if o.Output.Unavailable != "" {
			found = append(found, status.Finding{Component: o.Name, Effect: status.Unavailable, Reason: reasonNotServed, Message: o.Output.Unavailable, Aside: true})
		}
	}
	return found
}

// applyFindings reports objects that could not be applied.
func (r *reconciled) applyFindings() []status.Finding {
	if r.applyErr == nil {
		return nil
	}
	lines, permanent := sentences(r.applyErr)
	message := "Error while updating operator configuration: could not apply: " + strings.Join(lines, "; ")
	if permanent {
		return degraded("", reasonApply, message)
	}
	return transient("", reasonApply, message)
}

// sentences returns the joined errors, at most maxErrors, and whether one of them is permanent.
func sentences(err error) (lines []string, permanent bool) {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for _, e := range errs {
		lines = append(lines, e.Error())
		if one, ok := errors.AsType[*apply.Error](e); ok && (apierrors.IsForbidden(one.Err) || apierrors.IsInvalid(one.Err)) {
			permanent = permanent || !apierrors.HasStatusCause(one.Err, "NamespaceTerminating")
		}
	}
	return phrase.First(lines, maxErrors), permanent
}

// recordEvents records events for new refusals, errors and kept objects. The status controller reports temporary problems if they persist.
func (c *Controller) recordEvents(network *operatorv1.Network, found []status.Finding, kept []plan.Action) {
	now := map[string]string{}
	for _, f := range found {
		if f.Effect == status.Degraded && f.Immediate {
			now[f.Component+f.Reason] = f.Message
			if c.reported[f.Component+f.Reason] != f.Message {
				c.Log.Warn("degraded", "component", f.Component, "reason", f.Reason, "message", f.Message)
				c.Events.Warning(network, f.Reason, f.Message)
				c.Metrics.refusal(f.Reason)
			}
		}
	}
	c.recordKeptEvent(network, kept, now)
	c.reported = now
}

// recordKeptEvent records an event when the set of kept objects changes.
func (c *Controller) recordKeptEvent(network *operatorv1.Network, kept []plan.Action, now map[string]string) {
	var names, why []string
	for _, a := range kept {
		names = append(names, a.Key.String())
		for _, reason := range a.Reasons {
			if !slices.Contains(why, reason) {
				why = append(why, reason)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	now[eventKept] = strings.Join(names, ", ")
	if c.reported[eventKept] != now[eventKept] {
		c.Log.Info("kept objects", "objects", names, "why", why)
		c.Events.Normal(network, eventKept, fmt.Sprintf("kept although no longer wanted: %s; %s", now[eventKept], strings.Join(why, "; ")))
	}
}

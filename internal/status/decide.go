package status

import (
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// effects lists the effects that have a condition, in the order in which conditions are published.
var effects = [...]Effect{Unavailable, Progressing, Degraded, NotUpgradeable}

// Decide returns the conditions for an input.
func Decide(in Input) Decision {
	d := Decision{
		Memory:   Memory{Seen: map[string]time.Time{}, Rollouts: map[string]Rollout{}, Installed: in.Memory.Installed},
		Versions: map[string]string{}, Rolling: map[Workload]time.Time{},
	}
	findings := slices.Concat(in.Findings, workloadFindings(in, &d), nodeFindings(in.Nodes))
	findings = append(debounce(in, &d, findings), previousFindings(in)...)
	d.carryOver(in)
	findings = sorted(append(findings, starting(in, findings)...))

	d.Controllers = withTimes(controllerConditions(findings), in.PreviousControllers, in.Now)
	if in.Absent {
		absent := Finding{Effect: Degraded, Reason: reasonNoConfig, Message: "Failed to get networks.operator.openshift.io cluster"}
		d.Operator = withTimes([]osv1.OperatorCondition{condition("", Degraded, append([]Finding{absent}, affecting(findings, Degraded, all)...))}, nil, in.Now)
		return d
	}
	for _, effect := range effects {
		d.Conditions = append(d.Conditions, condition("", effect, affecting(findings, effect, ofNetwork)))
		d.Operator = append(d.Operator, condition("", effect, affecting(findings, effect, all)))
	}
	note(d.Conditions, findings, "")
	note(d.Operator, findings, "")
	d.Conditions = append(d.Conditions, progress(in, d.Conditions, findings)...)
	for _, name := range components(in, findings) {
		d.Conditions = append(d.Conditions, componentConditions(name, in, findings)...)
	}
	d.Conditions = withTimes(d.Conditions, in.Previous, in.Now)
	d.Operator = withTimes(d.Operator, nil, in.Now)
	d.AtVersion = atVersion(in, findings)
	d.remember(in)
	d.versions(in)
	d.addEvents(in)
	return d
}

// all accepts every component, ofNetwork only those of the network.
func all(string) bool                 { return true }
func ofNetwork(component string) bool { return !IsController(component) }

// affecting returns the findings that affect a condition of the whole network or operator.
func affecting(findings []Finding, effect Effect, counts func(component string) bool) []Finding {
	var found []Finding
	for _, f := range findings {
		if f.Effect == effect && !f.Aside && counts(f.Component) {
			found = append(found, f)
		}
	}
	return found
}

// starting returns findings about a network that has never been available, and about rendered components that have never
// been available.
func starting(in Input, findings []Finding) []Finding {
	if in.Absent {
		return nil
	}
	var found []Finding
	moving := len(affecting(findings, Progressing, ofNetwork)) > 0
	if !wasAvailable(in, "") && (!in.Applied || moving || len(affecting(findings, Unavailable, ofNetwork)) > 0) {
		found = append(found, Finding{Effect: Unavailable, Reason: reasonStartup, Message: "The network is starting up"})
	}
	for _, name := range in.Components {
		moving := slices.ContainsFunc(findings, func(f Finding) bool { return f.Component == name && f.Effect == Progressing })
		if moving && !wasAvailable(in, name) {
			found = append(found, Finding{Component: name, Effect: Unavailable, Reason: reasonStartup, Message: name + " is starting up", Aside: true})
		}
	}
	return found
}

// wasAvailable reports whether a component, or the network itself, has ever been available. Memory keeps that when
// Network/cluster and its conditions are deleted.
func wasAvailable(in Input, component string) bool {
	return in.Memory.installed(component) || slices.ContainsFunc(in.Previous, func(c osv1.OperatorCondition) bool {
		return c.Type == component+string(Unavailable) && (c.Status == osv1.ConditionTrue || c.Reason == reasonDown)
	})
}

// remember records the components that are available now.
func (d *Decision) remember(in Input) {
	var available []string
	for _, name := range append(slices.Clone(in.Components), "") {
		now := slices.ContainsFunc(d.Conditions, func(c osv1.OperatorCondition) bool {
			return c.Type == name+string(Unavailable) && c.Status == osv1.ConditionTrue
		})
		if now || wasAvailable(in, name) {
			available = append(available, name)
		}
	}
	d.Memory = d.Memory.with(available)
}

// components returns the names of all components of the network, sorted.
func components(in Input, findings []Finding) []string {
	names := slices.Clone(in.Components)
	for _, w := range in.Wanted {
		names = append(names, w.Component)
	}
	for _, f := range slices.Concat(in.Findings, findings) {
		names = append(names, f.Component)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" || IsController(name) })
}

// atVersion reports whether every workload runs in the operator's version, and everything critical is ready.
func atVersion(in Input, findings []Finding) bool {
	if !in.Applied || len(affecting(findings, Progressing, ofNetwork)) > 0 {
		return false
	}
	for _, l := range in.Live {
		if l.Version != in.Version || critical(in, l) && !l.settled() {
			return false
		}
	}
	return true
}

// critical reports whether a workload is desired and critical.
func critical(in Input, l Live) bool {
	return slices.ContainsFunc(in.Wanted, func(w Workload) bool { return w.id() == l.id() && !w.NonCritical })
}

// versions records the version of each component.
func (d *Decision) versions(in Input) {
	mixed := map[string]bool{}
	for _, l := range in.Live {
		version, known := d.Versions[l.Component]
		_, rolling := d.Rolling[identity(l.Workload)]
		mixed[l.Component] = mixed[l.Component] || rolling || known && version != l.Version || l.Version == ""
		d.Versions[l.Component] = l.Version
	}
	for component := range mixed {
		if mixed[component] {
			delete(d.Versions, component)
		}
	}
}

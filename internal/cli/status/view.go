package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	decided "github.com/cluster-network-operator/cno/internal/status"
)

// found has the objects of the cluster. Those that do not exist are nil.
type found struct {
	// namespace is that of the operator.
	namespace string
	network   *operatorv1.Network
	// recorded is the recorded configuration if the network omits fields of the summary; nil if there is none.
	recorded *operatorv1.NetworkSpec
	operator *appsv1.Deployment
	lease    *coordinationv1.Lease
	// unreadable are the objects that the user has no permission to read.
	unreadable []string
	// release is the version of the operator that ran last.
	release string
	// data is that of the ConfigMap operator-status.
	data            map[string]string
	clusterOperator *configv1.ClusterOperator
}

// The states of a network, the best first.
const (
	healthy     = "healthy"
	progressing = "progressing"
	degraded    = "degraded"
	unavailable = "unavailable"
	unknown     = "unknown"
	absent      = "absent"
)

// View is the output, as printed in JSON and YAML.
type View struct {
	// State is healthy, progressing, degraded, unavailable, unknown or absent.
	State string `json:"state"`
	// Why is the reason why the state is unknown; empty otherwise.
	Why string `json:"why,omitempty"`
	// Network is nil if there is none.
	Network *Network `json:"network,omitempty"`
	// Paused is nil unless the operator is paused.
	Paused *Pause `json:"paused,omitempty"`
	// Warnings are sentences about annotations without effect.
	Warnings []string `json:"warnings,omitempty"`
	// Components are the operator, the network as a whole, its components, and the operator's other controllers.
	Components []Component `json:"components"`
}

// Pause records who paused the operator, when (RFC 3339) and why, according to the annotations.
type Pause struct {
	By     string `json:"by,omitempty"`
	Since  string `json:"since,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// pause reads a pause from annotations; nil if there is none.
func pause(annotations map[string]string) *Pause {
	if annotations[pipeline.PausedAnnotation] != "true" {
		return nil
	}
	return &Pause{By: annotations[pipeline.PausedByAnnotation], Since: annotations[pipeline.PausedAtAnnotation], Reason: annotations[pipeline.PausedReasonAnnotation]}
}

// String returns the pause as a line of text.
func (p Pause) String() string {
	text := "yes"
	for _, part := range [...][2]string{{" by ", p.By}, {" since ", p.Since}, {": ", p.Reason}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text + ". Nothing is changed or repaired until: cno resume"
}

// Network is the configured network.
type Network struct {
	Type           string   `json:"type"`
	ClusterNetwork []string `json:"clusterNetwork"`
	ServiceNetwork []string `json:"serviceNetwork"`
	// Version is the version of the operator whose rollout has finished; empty if there is none yet.
	Version            string `json:"version,omitempty"`
	Generation         int64  `json:"generation"`
	ObservedGeneration int64  `json:"observedGeneration"`
	Ready              bool   `json:"ready"`
}

// Component is a row of the table. Its statuses are True, False, or empty if the component has no such condition.
type Component struct {
	Name        string    `json:"name"`
	Available   string    `json:"available,omitempty"`
	Progressing string    `json:"progressing,omitempty"`
	Degraded    string    `json:"degraded,omitempty"`
	Version     string    `json:"version,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	// Reason is that of the condition with Message.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// view returns the output for the objects that were found.
func view(f found, now time.Time) (View, error) {
	v := View{State: absent, Components: []Component{operatorRow(f, now)}}
	versions, controllers, err := decode(f.data)
	if err != nil {
		return v, err
	}
	if f.network != nil {
		conditions := f.network.Status.Conditions
		v.Network, v.Paused, v.Warnings = summary(f.network, f.recorded), pause(f.network.Annotations), pipeline.AnnotationProblems(f.network.Annotations)
		whole := row("network", "", conditions, f.network.Status.Version)
		v.State = state(whole)
		v.Components = append(v.Components, whole)
		for _, name := range names(conditions) {
			v.Components = append(v.Components, row(name, name, conditions, versions[name]))
		}
	}
	for _, name := range names(controllers) {
		r := row(name, name, controllers, "")
		v.Components = append(v.Components, r)
		v.State = worse(v.State, r)
	}
	if f.network == nil && f.clusterOperator != nil {
		v.Components = append(v.Components, clusterOperatorRow(f.clusterOperator))
	}
	if operator := v.Components[0]; f.network != nil && operator.Available != "True" {
		v.State, v.Why, v.Network.Ready = unknown, operator.Message, false
	}
	return v, nil
}

// decode decodes the ConfigMap operator-status.
func decode(data map[string]string) (versions map[string]string, controllers []osv1.OperatorCondition, err error) {
	for key, into := range map[string]any{decided.KeyVersions: &versions, decided.KeyControllers: &controllers} {
		if text := data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return nil, nil, fmt.Errorf("read %s of ConfigMap %s: %w", key, decided.ConfigMapName, err)
			}
		}
	}
	return versions, controllers, nil
}

// summary returns the summary of a network. Pools and a type that its specification omits are those of the recorded one.
func summary(n *operatorv1.Network, recorded *operatorv1.NetworkSpec) *Network {
	spec := pipeline.Keep(&n.Spec, recorded)
	s := &Network{
		Type: string(spec.DefaultNetwork.Type), ClusterNetwork: pipeline.PoolTexts(spec.ClusterNetwork), ServiceNetwork: spec.ServiceNetwork, Version: n.Status.Version,
		Generation: n.Generation, ObservedGeneration: n.Status.ObservedGeneration,
	}
	c, _ := find(n.Status.Conditions, "Ready")
	s.Ready = c.Status == osv1.ConditionTrue && s.Generation == s.ObservedGeneration
	return s
}

// operatorRow returns the row of the operator: if it does not work, the published conditions may be out of date. It is Unknown
// if the user lacks the permission to read its objects.
func operatorRow(f found, now time.Time) Component {
	c := Component{Name: "operator", Version: f.release}
	d := f.operator
	switch {
	case len(f.unreadable) > 0:
		c.Available, c.Reason = "Unknown", "Forbidden"
		c.Message = fmt.Sprintf("no permission to read %s; run the command as a user with that permission", strings.Join(f.unreadable, ", "))
	case d == nil:
		c.Available, c.Reason = "False", "NotInstalled"
		c.Message = fmt.Sprintf("Deployment %s/%s does not exist; conditions may be out of date", f.namespace, decided.OperatorDeployment)
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		c.Available, c.Reason = "False", "ScaledToZero"
		c.Message = fmt.Sprintf("Deployment %[1]s/%[2]s is scaled to 0; conditions may be out of date. Run: kubectl -n %[1]s scale deployment %[2]s --replicas=1", d.Namespace, d.Name)
	case d.Status.AvailableReplicas == 0:
		c.Available, c.Reason = "False", "NoPod"
		c.Message = fmt.Sprintf("Deployment %[1]s/%[2]s has no available pod; conditions may be out of date. Run: kubectl -n %[1]s get pods", d.Namespace, d.Name)
	default:
		c.Available, c.Progressing = "True", "False"
		if d.Status.UpdatedReplicas < d.Status.Replicas || d.Status.ObservedGeneration < d.Generation {
			c.Progressing = "True"
		}
		c.led(f, now)
	}
	c.Since = operatorSince(f, c)
	return c
}

// led sets the row of an operator with available pods to False if none of them has renewed the lease recently.
func (c *Component) led(f found, now time.Time) {
	text := fmt.Sprintf("no replica of the operator holds Lease %s/%s", f.namespace, decided.LeaseName)
	if f.lease != nil {
		last := decided.Renewed(f.lease)
		if now.Sub(last) <= decided.LeaseStale {
			return
		}
		text = fmt.Sprintf("Lease %s/%s was last renewed at %s", f.namespace, decided.LeaseName, last.UTC().Format(time.RFC3339))
	}
	c.Available, c.Reason = "False", "NoLeader"
	c.Message = fmt.Sprintf("%s; conditions may be out of date. Run: kubectl -n %s logs deployment/%s", text, f.namespace, decided.OperatorDeployment)
}

// operatorSince returns the time of the last transition of the operator's row: an operator that does not work has stopped at
// the last renewal of its lease. It returns the zero time if unknown.
func operatorSince(f found, c Component) time.Time {
	if c.Available == "False" && f.lease != nil {
		return decided.Renewed(f.lease)
	}
	if f.operator == nil || c.Available != "True" {
		return time.Time{}
	}
	for _, c := range f.operator.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func clusterOperatorRow(o *configv1.ClusterOperator) Component {
	var conditions []osv1.OperatorCondition
	for _, c := range o.Status.Conditions {
		conditions = append(conditions, osv1.OperatorCondition{Type: string(c.Type), Status: osv1.ConditionStatus(c.Status), LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return row("clusteroperator", "", conditions, "")
}

// names returns the components that have conditions, sorted.
func names(conditions []osv1.OperatorCondition) []string {
	set := map[string]bool{}
	for _, c := range conditions {
		for _, suffix := range []string{"Available", "Progressing", "Degraded"} {
			if name, ok := strings.CutSuffix(c.Type, suffix); ok && name != "" {
				set[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func find(conditions []osv1.OperatorCondition, name string) (osv1.OperatorCondition, bool) {
	i := slices.IndexFunc(conditions, func(c osv1.OperatorCondition) bool { return c.Type == name })
	if i < 0 {
		return osv1.OperatorCondition{}, false
	}
	return conditions[i], true
}

// row returns the row of a component, whose conditions begin with prefix. The message is the most severe one.
func row(name, prefix string, conditions []osv1.OperatorCondition, version string) Component {
	c := Component{Name: name, Version: version}
	var problem bool
	for _, which := range []struct {
		suffix string
		bad    osv1.ConditionStatus
		into   *string
	}{{"Available", osv1.ConditionFalse, &c.Available}, {"Degraded", osv1.ConditionTrue, &c.Degraded}, {"Progressing", osv1.ConditionTrue, &c.Progressing}} {
		condition, exists := find(conditions, prefix+which.suffix)
		if !exists {
			continue
		}
		*which.into = string(condition.Status)
		if condition.LastTransitionTime.After(c.Since) {
			c.Since = condition.LastTransitionTime.Time
		}
		// Startup is less specific than the reason of Progressing.
		if condition.Status == which.bad && (!problem || c.Reason == "Startup") {
			c.Reason, c.Message, problem = condition.Reason, condition.Message, true
		} else if !decided.IsAsExpected(condition) && !problem {
			c.Reason, c.Message = condition.Reason, condition.Message
		}
	}
	return c
}

// state returns the state of the network as a whole.
func state(c Component) string {
	switch {
	case c.Available != "True":
		return unavailable
	case c.Degraded == "True":
		return degraded
	case c.Progressing == "True":
		return progressing
	default:
		return healthy
	}
}

// worse returns the worse of a state and degraded if a controller is degraded; otherwise the state.
func worse(state string, c Component) string {
	if c.Degraded == "True" && (state == healthy || state == progressing) {
		return degraded
	}
	return state
}

package hostnetworkconfig

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
	"github.com/cluster-network-operator/cno/internal/dayone/template"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// decision is the desired state.
type decision struct {
	// Objects are to be applied.
	Objects []object
	// Failures are messages about objects that cannot be created, by config.
	Failures map[string][]string
	// Notes are remarks about the objects, by config.
	Notes map[string]string
	// Keep are the names of configs whose objects must not be deleted.
	Keep []string
	// Statuses are the statuses by config, without the condition Rendered.
	Statuses map[string]*networkv1.HostNetworkConfigStatus
	// Configured are the roles of nodes: those of configs, and abandoned ones that still have files on nodes.
	Configured []string
	// Waiting is true if something is awaited that is not watched.
	Waiting bool
}

// object is an object to apply.
type object struct {
	*unstructured.Unstructured
	// config is the HostNetworkConfig of the object.
	config string
	// transient objects change during a rollout, and are not listed in the status.
	transient bool
	// shared objects belong to a third party and only get a field. They are never deleted.
	shared bool
}

// cachedRender is the result of rendering one generation.
type cachedRender struct {
	generation int64
	rendered   template.Rendered
	problems   []string
}

// roleConfig is a config with its rendered documents and problems.
type roleConfig struct {
	*networkv1.HostNetworkConfig
	rendered template.Rendered
	problems []string
	reason   string
}

// decide returns the decision. It is pure except for the cache of rendered documents.
func (c *Controller) decide(w input) decision {
	d := decision{Statuses: map[string]*networkv1.HostNetworkConfigStatus{}, Failures: map[string][]string{}, Notes: map[string]string{}}
	configs := c.validateAll(w)
	abandoned := abandonedRoles(w, configs)
	d.Configured = roles(configs, abandoned...)
	var valids []string
	for _, config := range configs {
		status := &networkv1.HostNetworkConfigStatus{ObservedGeneration: config.Generation, Conditions: slices.Clone(config.Status.Conditions)}
		d.Statuses[config.Name] = status
		c.condition(config.HostNetworkConfig, status, valid(config))
		if len(config.problems) > 0 {
			d.Keep = append(d.Keep, config.Name)
			// The previous objects still exist, so their status stays.
			status.Rendered = config.Status.Rendered
			status.Hosts, status.Nodes, status.AppliedNodes, status.FailedNodes = config.Status.Hosts, config.Status.Nodes, config.Status.AppliedNodes, config.Status.FailedNodes
			continue
		}
		valids = append(valids, canonicalRole(config.Spec.Role))
		made, failures := c.objects(w, config, d.Configured)
		d.Objects = append(d.Objects, made...)
		d.Failures[config.Name] = failures
		program, note, err := c.program(w, config)
		if err != nil {
			d.Failures[config.Name] = append(d.Failures[config.Name], err.Error())
		} else if program != nil {
			d.Objects = append(d.Objects, *program)
		}
		d.Notes[config.Name] = note
		waiting, requests, stop := describeHosts(w, config, d.Configured, status)
		d.Waiting = d.Waiting || waiting
		if live(config.HostNetworkConfig) {
			o, err := c.requestsObject(config, requests)
			if err != nil {
				d.Failures[config.Name] = append(d.Failures[config.Name], err.Error())
			} else {
				d.Objects = append(d.Objects, o)
			}
		}
		c.condition(config.HostNetworkConfig, status, appliedBy(status, stop))
	}
	programs, errs := c.orphanedPrograms(w, valids)
	for _, err := range errs {
		c.Log.Error("cannot update a MachineConfig", "error", err)
	}
	d.Objects = append(d.Objects, programs...)
	last, err := c.withdraw(w, abandoned, d.Configured)
	if err != nil {
		c.Log.Error("cannot remove files from nodes", "error", err)
	}
	d.Objects = append(d.Objects, last...)
	d.Waiting = d.Waiting || len(last) > 0
	return d
}

// validateAll renders all configs and finds conflicts between them.
func (c *Controller) validateAll(w input) []roleConfig {
	var configs, accepted []roleConfig
	owner := map[string]string{}
	for i := range w.Configs {
		config := roleConfig{HostNetworkConfig: &w.Configs[i]}
		role := canonicalRole(config.Spec.Role)
		if other, taken := owner[role]; taken {
			config.reason = "RoleTaken"
			config.problems = []string{fmt.Sprintf("spec.role: %s is configured by HostNetworkConfig %s, which is older; delete one of them", config.Spec.Role, other)}
		} else {
			config.reason = "Refused"
			config.rendered, config.problems = c.render(config.HostNetworkConfig)
			// An invalid config keeps its role, because its previous objects are active.
			owner[role] = config.Name
		}
		if len(config.problems) == 0 {
			if len(accepted) > 0 {
				config.problems = conflicts(append(slices.Clone(accepted), config))
				config.reason = "Conflict"
			}
			if len(config.problems) == 0 {
				accepted = append(accepted, config)
			}
		}
		configs = append(configs, config)
	}
	return configs
}

// conflicts returns the problems of valid configs in combination.
func conflicts(configs []roleConfig) []string {
	var roles []placement.Role
	var problems []string
	owner, documents := map[string]string{}, map[string]string{}
	s := validation.Surroundings{WithoutBridge: true, PreBoot: map[string]*nmstate.Document{}, Locate: func(p nmstate.Problem) nmstate.Problem {
		p.Line = 0 // the line of a rendered document, which users do not have
		if config := documents[p.File]; config != "" {
			p.File = "HostNetworkConfig " + config + ", " + p.File
		}
		return p
	}}
	for _, config := range configs {
		if len(config.rendered.Files) > 0 {
			roles = append(roles, placement.Role{Name: config.Spec.Role, Files: config.rendered.Files})
		}
		for _, d := range config.rendered.PreBoot {
			if other, taken := owner[d.Host]; taken {
				problems = append(problems, fmt.Sprintf("host %s has a document before the boot of HostNetworkConfig %s already; remove the host from one of them", d.Host, other))
				continue
			}
			name := validation.PreBootName(d.Host)
			owner[d.Host], documents[name] = config.Name, config.Name
			if doc, _ := preboot.Parse(name, d.Content); doc != nil {
				s.PreBoot[d.Host] = doc
			}
		}
	}
	for _, p := range validation.Validate(roles, s).Errors() {
		problems = append(problems, p.String())
	}
	return problems
}

func (c *Controller) render(config *networkv1.HostNetworkConfig) (template.Rendered, []string) {
	key := string(config.UID)
	if cached, ok := c.renderCache[key]; ok && cached.generation == config.Generation {
		return cached.rendered, cached.problems
	}
	rendered, errs := template.Render(&config.Spec)
	var problems []string
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	if c.renderCache == nil {
		c.renderCache = map[string]cachedRender{}
	}
	c.renderCache[key] = cachedRender{config.Generation, rendered, problems}
	return rendered, problems
}

// canonicalRole returns the canonical name of a role with two names.
func canonicalRole(role string) string {
	if role == "control-plane" {
		return "master"
	}
	return role
}

// roles returns the roles of all configs and additional ones.
func roles(configs []roleConfig, more ...string) []string {
	all := slices.Clone(more)
	for _, config := range configs {
		all = append(all, canonicalRole(config.Spec.Role))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxMessage is the maximum length of a condition's message in bytes; the API server allows 32768.
const maxMessage = 4096

func valid(config roleConfig) metav1.Condition {
	if len(config.problems) > 0 {
		message := strings.Join(config.problems, "\n")
		if len(message) > maxMessage {
			message = message[:maxMessage-3] + "..."
		}
		return metav1.Condition{Type: networkv1.ConditionValid, Status: metav1.ConditionFalse, Reason: config.reason, Message: message}
	}
	return metav1.Condition{Type: networkv1.ConditionValid, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: strings.Join(config.rendered.Warnings, "\n")}
}

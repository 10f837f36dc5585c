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

// decision is what is to be there, and what is to be said.
type decision struct {
	// Objects are to be applied.
	Objects []object
	// Failures are sentences about what cannot be made, by config.
	Failures map[string][]string
	// Notes are sentences about what is made, by config.
	Notes map[string]string
	// Keep are the names of configs of which nothing may be deleted.
	Keep []string
	// Statuses are by the name of the config, without the condition Rendered.
	Statuses map[string]*networkv1.HostNetworkConfigStatus
	// Configured are the roles that nodes can be of: those of configs, and those that are left but not yet clean.
	Configured []string
	// Waiting says that something is awaited that no one reports.
	Waiting bool
}

// object is one object to apply.
type object struct {
	*unstructured.Unstructured
	// config is the HostNetworkConfig that it is made of.
	config string
	// passing objects change while a rollout goes on, and are not listed in the status.
	passing bool
	// shared objects belong to a third party, and get a field only. They are never deleted.
	shared bool
}

// remembered is what was rendered of one generation.
type remembered struct {
	generation int64
	rendered   template.Rendered
	wrong      []string
}

// roleConfig is one config on the way to a decision.
type roleConfig struct {
	*networkv1.HostNetworkConfig
	rendered template.Rendered
	wrong    []string
	reason   string
}

// decide is pure but for what it remembers of specifications that have not changed.
func (c *Controller) decide(w world) decision {
	d := decision{Statuses: map[string]*networkv1.HostNetworkConfigStatus{}, Failures: map[string][]string{}, Notes: map[string]string{}}
	configs := c.judge(w)
	gone := leaving(w, configs)
	d.Configured = roles(configs, gone...)
	var valids []string
	for _, config := range configs {
		status := &networkv1.HostNetworkConfigStatus{ObservedGeneration: config.Generation, Conditions: slices.Clone(config.Status.Conditions)}
		d.Statuses[config.Name] = status
		c.condition(config.HostNetworkConfig, status, valid(config))
		if len(config.wrong) > 0 {
			d.Keep = append(d.Keep, config.Name)
			// What was made of it before is still there, and so is what was said of it.
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
		waits, requests, stop := describeHosts(w, config, d.Configured, status)
		d.Waiting = d.Waiting || waits
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
	programs, errs := c.programsLeft(w, valids)
	for _, err := range errs {
		c.Log.Error("a MachineConfig stays as it is", "error", err)
	}
	d.Objects = append(d.Objects, programs...)
	last, err := c.leave(w, gone, d.Configured)
	if err != nil {
		c.Log.Error("files cannot be removed from nodes", "error", err)
	}
	d.Objects = append(d.Objects, last...)
	d.Waiting = d.Waiting || len(last) > 0
	return d
}

// judge renders all configs, and finds those that contradict others.
func (c *Controller) judge(w world) []roleConfig {
	var configs, accepted []roleConfig
	owner := map[string]string{}
	for i := range w.Configs {
		config := roleConfig{HostNetworkConfig: &w.Configs[i]}
		role := canonicalRole(config.Spec.Role)
		if other, taken := owner[role]; taken {
			config.reason = "RoleTaken"
			config.wrong = []string{fmt.Sprintf("spec.role: %s is configured by HostNetworkConfig %s, which is older; delete one of them", config.Spec.Role, other)}
		} else {
			config.reason = "Refused"
			config.rendered, config.wrong = c.render(config.HostNetworkConfig)
			// An invalid config keeps its role: what was made of it before is in effect.
			owner[role] = config.Name
		}
		if len(config.wrong) == 0 {
			if len(accepted) > 0 {
				config.wrong = conflicts(append(slices.Clone(accepted), config))
				config.reason = "Conflict"
			}
			if len(config.wrong) == 0 {
				accepted = append(accepted, config)
			}
		}
		configs = append(configs, config)
	}
	return configs
}

// conflicts returns what is wrong with configs together. Each of them is right by itself.
func conflicts(configs []roleConfig) []string {
	var roles []placement.Role
	var wrong []string
	owner, documents := map[string]string{}, map[string]string{}
	s := validation.Surroundings{WithoutBridge: true, PreBoot: map[string]*nmstate.Document{}, Locate: func(p nmstate.Problem) nmstate.Problem {
		p.Line = 0 // of a rendered document: no file of a user has it
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
				wrong = append(wrong, fmt.Sprintf("host %s has a document before the boot of HostNetworkConfig %s already; remove the host from one of them", d.Host, other))
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
		wrong = append(wrong, p.String())
	}
	return wrong
}

func (c *Controller) render(config *networkv1.HostNetworkConfig) (template.Rendered, []string) {
	key := string(config.UID)
	if have, ok := c.renders[key]; ok && have.generation == config.Generation {
		return have.rendered, have.wrong
	}
	rendered, errs := template.Render(&config.Spec)
	var wrong []string
	for _, err := range errs {
		wrong = append(wrong, err.Error())
	}
	if c.renders == nil {
		c.renders = map[string]remembered{}
	}
	c.renders[key] = remembered{config.Generation, rendered, wrong}
	return rendered, wrong
}

// canonicalRole is one name for what has two.
func canonicalRole(role string) string {
	if role == "control-plane" {
		return "master"
	}
	return role
}

// roles returns the roles of all configs, and more.
func roles(configs []roleConfig, more ...string) []string {
	all := slices.Clone(more)
	for _, config := range configs {
		all = append(all, canonicalRole(config.Spec.Role))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// longestMessage bounds the message of a condition, for which the API server sets 32768 bytes; no one reads that much.
const longestMessage = 4096

func valid(config roleConfig) metav1.Condition {
	if len(config.wrong) > 0 {
		message := strings.Join(config.wrong, "\n")
		if len(message) > longestMessage {
			message = message[:longestMessage-3] + "..."
		}
		return metav1.Condition{Type: networkv1.ConditionValid, Status: metav1.ConditionFalse, Reason: config.reason, Message: message}
	}
	return metav1.Condition{Type: networkv1.ConditionValid, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: strings.Join(config.rendered.Warnings, "\n")}
}

package roles

import (
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/template"
)

func (r *Reader) hostNetworkConfig(path string, document []byte, first int) {
	rendered, config, problems := renderObject(path, document, first)
	r.found.Problems = append(r.found.Problems, problems...)
	r.found.WithoutBridge = r.found.WithoutBridge || config.Spec.WithoutBridge
	for _, file := range rendered.Files {
		r.add(config.Spec.Role, file)
	}
	r.found.PreBoot = append(r.found.PreBoot, hostsOf(rendered, config)...)
}

// IsHostNetworkConfig reports whether a text is a HostNetworkConfig.
func IsHostNetworkConfig(text []byte) bool {
	var head struct{ APIVersion, Kind string }
	return yaml.Unmarshal(text, &head) == nil && head.Kind == "HostNetworkConfig"
}

// PreBoot returns the documents of a HostNetworkConfig for the time before the boot, whether or not it asks for that phase.
func PreBoot(path string, object []byte) ([]Host, nmstate.Problems) {
	rendered, config, problems := renderObject(path, object, 1, networkv1.PreBoot)
	return hostsOf(rendered, config), problems
}

// renderObject renders an object, which begins on some line of a file, for some phases in place of its own if they are given.
// An object that its CRD refuses is not rendered.
func renderObject(path string, object []byte, first int, phases ...networkv1.Phase) (template.Rendered, networkv1.HostNetworkConfig, nmstate.Problems) {
	var config networkv1.HostNetworkConfig
	in := place{path, object, first}
	if problems := in.check(); problems != nil {
		return template.Rendered{}, config, problems
	}
	if err := yaml.UnmarshalStrict(object, &config); err != nil {
		return template.Rendered{}, config, nmstate.Problems{{File: path, Message: err.Error()}}
	}
	if len(phases) > 0 {
		config.Spec.Phases = phases
	}
	rendered, errs := template.Render(&config.Spec)
	var problems nmstate.Problems
	for _, err := range errs {
		problems = append(problems, in.problem(err))
	}
	for _, warning := range rendered.Warnings {
		problems = append(problems, nmstate.Problem{File: path, Message: warning, Warning: true})
	}
	return rendered, config, problems
}

func hostsOf(rendered template.Rendered, config networkv1.HostNetworkConfig) []Host {
	var hosts []Host
	for _, d := range rendered.PreBoot {
		hosts = append(hosts, Host{Name: d.Host, BareMetalHost: d.BareMetalHost, Role: config.Spec.Role, Document: d.Content})
	}
	return hosts
}

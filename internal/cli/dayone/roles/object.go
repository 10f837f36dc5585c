package roles

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/template"
)

func (r *Reader) hostNetworkConfig(path string, document []byte, first int) {
	in := newPlace(path, document, first)
	rendered, config, problems := renderObject(in)
	r.found.Problems = append(r.found.Problems, problems...)
	r.found.WithoutBridge = r.found.WithoutBridge || config.Spec.WithoutBridge
	r.found.documents.Add(rendered.Documents)
	for _, file := range rendered.Files {
		r.add(config.Spec.Role, file)
	}
	r.found.PreBoot = append(r.found.PreBoot, hostsOf(in, rendered, config)...)
}

// IsHostNetworkConfig reports whether a text is a HostNetworkConfig.
func IsHostNetworkConfig(text []byte) bool {
	var head struct{ APIVersion, Kind string }
	return yaml.Unmarshal(text, &head) == nil && head.Kind == "HostNetworkConfig"
}

// PreBoot returns the documents of a HostNetworkConfig for the time before the boot, also if the object does not have that phase.
func PreBoot(path string, object []byte) ([]Host, nmstate.Problems) {
	in := newPlace(path, object, 1)
	rendered, config, problems := renderObject(in, networkv1.PreBoot)
	return hostsOf(in, rendered, config), problems
}

// renderObject renders an object for the given phases, or for its own if there are none. An object that its CRD refuses is not rendered.
func renderObject(in place, phases ...networkv1.Phase) (template.Rendered, networkv1.HostNetworkConfig, nmstate.Problems) {
	var config networkv1.HostNetworkConfig
	if problems := in.check(); problems != nil {
		return template.Rendered{}, config, problems
	}
	if err := yaml.UnmarshalStrict(in.object, &config); err != nil {
		return template.Rendered{}, config, nmstate.Problems{{File: in.path, Message: err.Error()}}
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
		problems = append(problems, nmstate.Problem{File: in.path, Message: warning, Warning: true})
	}
	return rendered, config, problems
}

func hostsOf(in place, rendered template.Rendered, config networkv1.HostNetworkConfig) []Host {
	var hosts []Host
	for _, d := range rendered.PreBoot {
		index := slices.IndexFunc(config.Spec.Hosts, func(h networkv1.Host) bool { return placement.ShortName(h.Name) == d.Host })
		path := field.NewPath("spec", "hosts").Index(index).String()
		locate := func(p nmstate.Problem) nmstate.Problem {
			p.Message = strings.TrimPrefix(p.Path+": ", ": ") + p.Message
			p.File, p.Line, p.Path = in.path, in.line(path), path
			return p
		}
		hosts = append(hosts, Host{Name: d.Host, BareMetalHost: d.BareMetalHost, Role: config.Spec.Role, Document: d.Content, read: d.Document, warnings: d.Problems, locate: locate})
	}
	return hosts
}

package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Sources of detected values that are not in the configuration of the control plane.
const (
	sourceApplied = "the applied configuration"
	sourceDefault = "the default"
)

// Detected is a field that a specification omits, with its value.
type Detected struct {
	// Field is the path of the field.
	Field string `json:"field"`
	// Value is the value of the field as text.
	Value string `json:"value"`
	// Source is where the value is from.
	Source string `json:"source"`
}

// String returns the field, the value and the source.
func (d Detected) String() string { return fmt.Sprintf("%s: %s (from %s)", d.Field, d.Value, d.Source) }

// Omits reports whether a specification omits a field that is detected: the pools or the type.
func Omits(spec *operatorv1.NetworkSpec) bool {
	return len(spec.ClusterNetwork) == 0 || len(spec.ServiceNetwork) == 0 || omitsType(spec)
}

func omitsType(spec *operatorv1.NetworkSpec) bool {
	return strings.TrimSpace(string(spec.DefaultNetwork.Type)) == ""
}

// Keep returns a copy of a specification in which omitted pools and an omitted type have the recorded values.
func Keep(spec, recorded *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if recorded == nil {
		return out
	}
	if omitsType(out) {
		out.DefaultNetwork.Type = recorded.DefaultNetwork.Type
	}
	if len(out.ClusterNetwork) == 0 {
		out.ClusterNetwork = slices.Clone(recorded.ClusterNetwork)
	}
	if len(out.ServiceNetwork) == 0 {
		out.ServiceNetwork = slices.Clone(recorded.ServiceNetwork)
	}
	return out
}

// complete fills pools and a type that the specification omits: from the record, so that an omitted field never changes a network in use,
// or else from what the cluster declares.
func (s *state) complete() {
	omitted := s.result.Spec
	recorded := s.in.Applied
	if recorded == nil {
		recorded = s.in.Recorded
	}
	spec, source := Keep(omitted, recorded), sourceApplied
	if d := s.in.Cluster.Declared; recorded == nil && d != nil && d.Unavailable == "" {
		source = ""
		if omitsType(spec) {
			spec.DefaultNetwork.Type = s.registry.DefaultType()
		}
		if len(spec.ClusterNetwork) == 0 {
			spec.ClusterNetwork = podNetworks(d.Pods, s.registry.Traits(spec.DefaultNetwork.Type).HostPrefix)
		}
		if len(spec.ServiceNetwork) == 0 {
			spec.ServiceNetwork = serviceNetworks(d.Services)
		}
	}
	s.result.Spec, s.result.Detected = spec, detected(omitted, spec, source, s.in.Cluster.Declared)
}

func podNetworks(v declared.Value, blocks bool) []operatorv1.ClusterNetworkEntry {
	var entries []operatorv1.ClusterNetworkEntry
	for _, p := range v.Pools {
		e := operatorv1.ClusterNetworkEntry{CIDR: p.CIDR.String()}
		if blocks {
			e.HostPrefix = p.HostPrefix
		}
		entries = append(entries, e)
	}
	return entries
}

func serviceNetworks(v declared.Value) []string {
	var cidrs []string
	for _, p := range v.Pools {
		cidrs = append(cidrs, p.CIDR.String())
	}
	return cidrs
}

// detected returns the fields that a specification omits and the complete one has. source is that of all fields; if it is empty, those of
// the cluster are used.
func detected(omitted, spec *operatorv1.NetworkSpec, source string, d *facts.Declared) []Detected {
	var found []Detected
	add := func(path *field.Path, value, of string) {
		if source != "" {
			of = source
		}
		found = append(found, Detected{Field: path.String(), Value: value, Source: of})
	}
	var pods, services string
	if d != nil {
		pods, services = d.Pods.Source, d.Services.Source
	}
	if omitsType(omitted) && !omitsType(spec) {
		add(typePath, string(spec.DefaultNetwork.Type), sourceDefault)
	}
	if len(omitted.ClusterNetwork) == 0 && len(spec.ClusterNetwork) > 0 {
		add(clusterPath, phrase.Names(PoolTexts(spec.ClusterNetwork), maxPools), pods)
	}
	if len(omitted.ServiceNetwork) == 0 && len(spec.ServiceNetwork) > 0 {
		add(servicePath, phrase.Names(spec.ServiceNetwork, maxPools), services)
	}
	return found
}

// PoolTexts formats address pools for users.
func PoolTexts(entries []operatorv1.ClusterNetworkEntry) []string {
	var texts []string
	for _, e := range entries {
		text := e.CIDR
		if e.HostPrefix != 0 {
			text += fmt.Sprintf(" (/%d a node)", e.HostPrefix)
		}
		texts = append(texts, text)
	}
	return texts
}

// nameSources adds the source to the errors of values that were detected: the specification does not have them.
func (s *state) nameSources(errs field.ErrorList) {
	for _, e := range errs {
		for _, d := range s.result.Detected {
			if strings.HasPrefix(e.Field, d.Field) {
				e.Detail += fmt.Sprintf("; the value is from %s, since %s is omitted", d.Source, d.Field)
			}
		}
	}
}

// typeRequired returns the error that the type is missing.
func (s *state) typeRequired() *field.Error {
	built := strings.Join(s.registry.built(), ", ")
	if d := s.in.Cluster.Declared; d != nil && d.Unavailable != "" {
		return rules.TypeUndetected.Required(typePath, d.Unavailable, built)
	}
	return rules.TypeRequired.Required(typePath, built)
}

// validateMissing refuses a specification without pools, with the reason why they were not detected.
func (s *state) validateMissing(p pools) field.ErrorList {
	var errs field.ErrorList
	d := s.in.Cluster.Declared
	if p.total[1] == 0 {
		if d == nil {
			errs = append(errs, rules.ServiceNetworkRequired.Required(servicePath))
		} else {
			errs = append(errs, rules.ServiceNetworkUndetected.Required(servicePath, undetected(d, d.Services, ServiceCIDRSource, declared.KubeadmServices)))
		}
	}
	if p.total[0] == 0 {
		if d == nil {
			errs = append(errs, rules.ClusterNetworkRequired.Required(clusterPath))
		} else {
			errs = append(errs, rules.ClusterNetworkUndetected.Required(clusterPath, undetected(d, d.Pods, declared.KubeadmPods, declared.ControllerManagerPods)))
		}
	}
	return errs
}

// ServiceCIDRSource is the source of the networks of Services that the API server itself publishes.
const ServiceCIDRSource = "ServiceCIDR kubernetes"

// undetected returns why a value was not detected. sources are those that were read.
func undetected(d *facts.Declared, v declared.Value, sources ...string) string {
	switch {
	case d.Unavailable != "":
		return d.Unavailable
	case v.Err != nil:
		return "what the cluster declares cannot be used. " + v.Err.Error()
	}
	return "the cluster does not declare it. The operator has looked for " + strings.Join(sources, ", and for ")
}

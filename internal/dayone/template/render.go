package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// Rendered is the result of Render.
type Rendered struct {
	// Files are the files of all nodes of the role, with the index of MAC addresses; nil if the phase FirstBoot is not requested.
	Files placement.Files
	// PreBoot are the documents for PreBoot, sorted by host; nil if the phase PreBoot is not requested.
	PreBoot []HostDocument
	// Documents caches the parsed Files, for a validation of the same files together with others.
	Documents *validation.Documents
	// Warnings are about valid settings that are probably mistakes.
	Warnings []string
}

// HostDocument is the document of a host.
type HostDocument struct {
	// Host is the short name, and BareMetalHost the name of its BareMetalHost.
	Host, BareMetalHost string
	Content             []byte
	// Document is the parsed Content, with the name validation.PreBootName(Host). Problems are its warnings.
	Document *nmstate.Document
	Problems nmstate.Problems
}

// Render renders the documents of all hosts, including cluster.yml if template and bridge need no values of hosts. It returns all errors at once, with paths
// in the object; there are no documents then.
func Render(spec *networkv1.HostNetworkConfigSpec) (Rendered, field.ErrorList) {
	r := &renderer{spec: spec, at: field.NewPath("spec")}
	r.check()
	if len(r.errs) > 0 {
		return Rendered{}, r.errs
	}
	r.shared()
	for i := range spec.Hosts {
		r.host(i)
	}
	if len(r.errs) > 0 {
		return Rendered{}, r.errs
	}
	r.finish()
	if len(r.errs) > 0 {
		return Rendered{}, r.errs
	}
	return r.out, nil
}

type renderer struct {
	spec     *networkv1.HostNetworkConfigSpec
	at       *field.Path
	template tree
	errs     field.ErrorList
	out      Rendered
	// preBoot are the parsed documents for PreBoot.
	preBoot map[string]*nmstate.Document
	// places are the paths in the object of each file.
	places map[string]*field.Path
}

// check checks the parts that do not depend on the host.
func (r *renderer) check() {
	r.preBoot, r.places = map[string]*nmstate.Document{}, map[string]*field.Path{}
	template, err := decode(r.at.Child("template"), r.spec.Template)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	r.template = template
	r.errs = append(r.errs, checkValueNames(r.at.Child("values"), r.spec.Values)...)
	names, owners := map[string]string{}, map[string]string{}
	for i, host := range r.spec.Hosts {
		at := r.at.Child("hosts").Index(i)
		r.errs = append(r.errs, checkValueNames(at.Child("values"), host.Values)...)
		short := placement.ShortName(host.Name)
		if err := placement.CheckHostName(host.Name); err != nil {
			r.errs = append(r.errs, field.Invalid(at.Child("name"), host.Name, err.Error()))
		} else if other, taken := names[short]; taken {
			r.errs = append(r.errs, field.Invalid(at.Child("name"), host.Name, fmt.Sprintf("is %s before the first dot, as %s is; nodes know only that part", short, other)))
		}
		names[short] = host.Name
		for n, text := range host.MACAddresses {
			mac, err := placement.ParseMAC(string(text))
			if err != nil {
				r.errs = append(r.errs, field.Invalid(at.Child("macAddresses").Index(n), text, err.Error()))
				continue
			}
			if other, taken := owners[mac]; taken && other != host.Name {
				r.errs = append(r.errs, field.Invalid(at.Child("macAddresses").Index(n), text, fmt.Sprintf("is an address of %s already", other)))
			}
			owners[mac] = host.Name
		}
	}
}

// common returns the state of template and bridge with values replaced.
func (r *renderer) common(e *expansion, preBoot bool) state {
	t := e.tree(r.at.Child("template"), r.template).(tree)
	s := split(t)
	if r.spec.Bridge == nil {
		return s
	}
	bridge := r.expandBridge(e)
	b := &builder{bridge: bridge, at: r.at.Child("bridge"), preBoot: preBoot}
	made := b.build()
	// An address with a missing value is invalid, which is already reported.
	if len(e.missing) == 0 {
		e.errs = append(e.errs, b.errs...)
	}
	routes, _ := made.desired["routes"].(tree)
	delete(made.desired, "routes")
	s = over(s, made)
	add(s.desired, list(routes["config"]), "routes", "config")
	return s
}

func (r *renderer) expandBridge(e *expansion) *networkv1.Bridge {
	at := r.at.Child("bridge")
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.spec.Bridge)
	if err != nil {
		e.errs = append(e.errs, field.InternalError(at, err))
		return &networkv1.Bridge{}
	}
	out := &networkv1.Bridge{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.tree(at, plain).(tree), out); err != nil {
		e.errs = append(e.errs, field.InternalError(at, err))
	}
	return out
}

// empty reports whether hosts without a desiredState have no configuration.
func (r *renderer) empty() bool { return r.spec.Bridge == nil && len(r.template) == 0 }

// shared renders cluster.yml, if no value is missing.
func (r *renderer) shared() {
	if r.empty() || !r.asked(networkv1.FirstBoot) {
		return
	}
	e := &expansion{values: values(r.spec.Values)}
	s := r.common(e, false)
	// Values of hosts differ, and so are missing here.
	given := map[string]bool{hostValue: true}
	for _, host := range r.spec.Hosts {
		for name := range host.Values {
			given[name] = true
		}
	}
	perHost := false
	maps.DeleteFunc(e.missing, func(name string, _ *field.Path) bool {
		base, _, _ := strings.Cut(name, ".")
		perHost = perHost || given[base]
		return given[base]
	})
	r.errs = append(r.errs, e.missingValues("no host")...)
	if perHost {
		return
	}
	r.errs = append(r.errs, e.errs...)
	if len(e.errs) == 0 && len(e.missing) == 0 {
		r.write(r.at.Child(r.source()), placement.ClusterFile, s.whole())
	}
}

// source returns the name of the field that is the source of all documents.
func (r *renderer) source() string {
	if len(r.template) == 0 {
		return "bridge"
	}
	return "template"
}

// host renders the documents of a host.
func (r *renderer) host(i int) {
	host := &r.spec.Hosts[i]
	at := r.at.Child("hosts").Index(i)
	short := placement.ShortName(host.Name)
	if host.DesiredState == nil && r.empty() {
		r.errs = append(r.errs, field.Required(at.Child("desiredState"), "there is no template and no bridge, so that the host needs its own desiredState"))
		return
	}
	if r.asked(networkv1.FirstBoot) {
		if s, ok := r.state(at, host, false); ok {
			r.write(at, placement.FileName(short), s)
		}
	}
	if !r.asked(networkv1.PreBoot) {
		return
	}
	s, ok := r.state(at, host, true)
	if !ok {
		return
	}
	before, err := withoutOVS(byName(s))
	if err != nil {
		r.errs = append(r.errs, field.Forbidden(at, fmt.Sprintf("the document for PreBoot cannot be rendered: %v", err)))
		return
	}
	r.writePreBoot(at, host, before)
}

// state returns the complete document of a host.
func (r *renderer) state(at *field.Path, host *networkv1.Host, preBoot bool) (tree, bool) {
	e := &expansion{values: values(r.spec.Values).over(host.Values).over(map[string]string{hostValue: placement.ShortName(host.Name)})}
	var s state
	replaced := host.DesiredState != nil && host.Strategy != networkv1.Merge
	if !replaced {
		s = r.common(e, preBoot)
	}
	if host.DesiredState != nil {
		own, err := decode(at.Child("desiredState"), host.DesiredState)
		if err != nil {
			r.errs = append(r.errs, err)
			return nil, false
		}
		s = over(s, split(e.tree(at.Child("desiredState"), own).(tree)))
	}
	wrong := append(e.missingValues("host "+host.Name), e.errs...)
	for _, err := range wrong {
		// Both phases, and all hosts, have the same errors.
		if !slices.ContainsFunc(r.errs, func(existing *field.Error) bool { return existing.Error() == err.Error() }) {
			r.errs = append(r.errs, err)
		}
	}
	return s.whole(), len(wrong) == 0
}

// asked reports whether a phase is requested.
func (r *renderer) asked(p networkv1.Phase) bool {
	if len(r.spec.Phases) == 0 {
		return p == networkv1.FirstBoot
	}
	return slices.Contains(r.spec.Phases, p)
}

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

// Rendered is what is made of one specification.
type Rendered struct {
	// Files are those of all nodes of the role, with the index of addresses. Nil if the phase FirstBoot is not asked for.
	Files placement.Files
	// PreBoot are the documents with which hosts are booted, sorted by host. Nil if the phase PreBoot is not asked for.
	PreBoot []HostDocument
	// Documents holds what was read of Files, for those who validate the same files together with others.
	Documents *validation.Documents
	// Warnings are sentences about what works and is probably not meant.
	Warnings []string
}

// HostDocument is a document for one host.
type HostDocument struct {
	// Host is the short name, and BareMetalHost the name of the object of its machine.
	Host, BareMetalHost string
	Content             []byte
	// Document is Content as it was read under the name validation.PreBootName(Host), and Problems are warnings about it.
	Document *nmstate.Document
	Problems nmstate.Problems
}

// Render makes the documents of all hosts. cluster.yml is among them if template and bridge need no value that only hosts
// give. All that is wrong is returned at once, with its place in the object; there are no documents then.
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
	// preBoot are the documents of PreBoot as they were read.
	preBoot map[string]*nmstate.Document
	// places are where in the object each file comes from.
	places map[string]*field.Path
}

// check looks at what does not depend on the host.
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

// common returns the state of template and bridge with values put in.
func (r *renderer) common(e *expansion, preBoot bool) state {
	t := e.tree(r.at.Child("template"), r.template).(tree)
	s := split(t)
	if r.spec.Bridge == nil {
		return s
	}
	bridge := r.expandBridge(e)
	b := &builder{bridge: bridge, at: r.at.Child("bridge"), preBoot: preBoot}
	made := b.build()
	// An address with a reference that has no value is no address; that is said already.
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

// empty reports whether there is nothing for hosts without a state of their own.
func (r *renderer) empty() bool { return r.spec.Bridge == nil && len(r.template) == 0 }

// shared makes cluster.yml, if all values are there.
func (r *renderer) shared() {
	if r.empty() || !r.asked(networkv1.FirstBoot) {
		return
	}
	e := &expansion{values: values(r.spec.Values)}
	s := r.common(e, false)
	// What hosts give is missing here only because it is different for each.
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
	r.errs = append(r.errs, e.complain("no host")...)
	if perHost {
		return
	}
	r.errs = append(r.errs, e.errs...)
	if len(e.errs) == 0 && len(e.missing) == 0 {
		r.write(r.at.Child(r.source()), placement.ClusterFile, s.whole())
	}
}

// source names the field that documents of all hosts come from.
func (r *renderer) source() string {
	if len(r.template) == 0 {
		return "bridge"
	}
	return "template"
}

// host makes the documents of one host.
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

// state returns the whole document of one host.
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
	wrong := append(e.complain("host "+host.Name), e.errs...)
	for _, err := range wrong {
		// Both phases, and all hosts, find the same.
		if !slices.ContainsFunc(r.errs, func(have *field.Error) bool { return have.Error() == err.Error() }) {
			r.errs = append(r.errs, err)
		}
	}
	return s.whole(), len(wrong) == 0
}

// asked reports whether documents for a phase are asked for.
func (r *renderer) asked(p networkv1.Phase) bool {
	if len(r.spec.Phases) == 0 {
		return p == networkv1.FirstBoot
	}
	return slices.Contains(r.spec.Phases, p)
}

package nmstate

import (
	"fmt"
	"strings"
)

// AltName is an alternative name of an interface in the kernel. A document adds or removes names, and keeps all others.
type AltName struct {
	Name  string `json:"name" nm:"required"`
	State string `json:"state,omitempty" nm:"words=absent"`
}

// Absent reports whether the name should be removed.
func (a AltName) Absent() bool { return a.State == "absent" }

// longestAltName is ALTIFNAMSIZ of the kernel, without the zero at its end.
const longestAltName = 127

// Card reports whether the interface is a network card, which documents cannot create.
func (i *Interface) Card() bool {
	switch i.Kind() {
	case TypeEthernet:
		return i.Veth == nil
	case TypeInfiniBand:
		return i.InfiniBand == nil || i.InfiniBand.BaseIface == ""
	}
	return false
}

// resolveAltNames checks the alternative names of a document, and replaces references to them by the names of the interfaces.
func (d *Document) resolveAltNames() (*Document, Problems) {
	r := altNames{doc: d, entries: map[string]string{}, names: map[string]string{}, paths: map[string]string{}}
	for n := range d.Interfaces {
		if i := &d.Interfaces[n]; i.Kept() {
			r.entries[i.Name] = fmt.Sprintf("interfaces[%d]", n)
		}
	}
	for n := range d.Interfaces {
		if i := &d.Interfaces[n]; i.Kept() && len(i.AltNames) > 0 {
			r.collect(i, fmt.Sprintf("interfaces[%d].alt-names", n))
		}
	}
	if len(r.problems) > 0 || len(r.names) == 0 {
		return d, r.problems
	}
	return d.Renamed(r.names), nil
}

// altNames are the alternative names of a document.
type altNames struct {
	doc      *Document
	problems Problems
	// entries are the paths of interfaces by name.
	entries map[string]string
	// names are the names of interfaces, and paths the paths of entries, by alternative name.
	names, paths map[string]string
}

func (r *altNames) collect(i *Interface, path string) {
	if !i.hasDevice() {
		r.problems.Errorf(r.doc, path, "belongs to an interface of the kernel, and %s of type %s is none; write it at the network card, or at the ovs-interface of the bridge",
			i.Name, i.Kind())
		return
	}
	listed := map[string]bool{}
	for n, alt := range i.AltNames {
		at := fmt.Sprintf("%s[%d].name", path, n)
		wrong := altNameRule(alt.Name)
		switch {
		case wrong != "":
		case listed[alt.Name]:
			wrong = "this interface lists it twice; remove one of the two"
		case alt.Absent():
		case alt.Name == i.Name && !i.Found():
			wrong = "that is the name of the interface itself; choose another, or remove it"
		case alt.Name != i.Name && r.entries[alt.Name] != "":
			wrong = fmt.Sprintf("that is the name of another interface (%s); choose another, or write the settings of both in one entry", r.entries[alt.Name])
		case r.paths[alt.Name] != "":
			wrong = fmt.Sprintf("that is an alternative name of another interface (%s); choose another", r.paths[alt.Name])
		default:
			r.names[alt.Name], r.paths[alt.Name] = i.Name, at
		}
		listed[alt.Name] = true
		if wrong != "" {
			r.problems.Errorf(r.doc, at, "is %q; %s", alt.Name, wrong)
		}
	}
}

// hasDevice reports whether the kernel has a device for the interface.
func (i *Interface) hasDevice() bool {
	return i.Kind() != TypeOVSBridge && i.Patch == nil && i.DPDK == nil
}

// altNameRule returns the rule of the kernel or systemd that an alternative name violates; empty for a valid name.
func altNameRule(name string) string {
	switch {
	case name == "":
		return "a name has at least one letter"
	case len(name) > longestAltName:
		return fmt.Sprintf("an alternative name has at most %d letters", longestAltName)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/:%", r) }):
		return "an alternative name has letters of ASCII, and no space, slash, colon or percent sign"
	case name == "." || name == ".." || name == "all" || name == "default":
		return "the kernel uses that name itself; choose another"
	case strings.Trim(name, "0123456789") == "":
		return "a name of digits only is the number of an interface; add a letter"
	}
	return ""
}

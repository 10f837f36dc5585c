package livestate

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// callByName gives the interfaces of a document that are called by an alternative name of a link the link's own name, and adds the names that
// references are to be changed to.
func callByName(doc *nmstate.Document, live State, renamed map[string]string) []error {
	var failures []error
	declared := map[string]bool{}
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		link, ok := byAltName(live, i.Name)
		if !ok || i.Kind() == nmstate.TypeOVSBridge {
			declared[i.Name] = true
			continue
		}
		switch matches := i.Type == "" || sameKind(string(i.Type), link.Kind); {
		case i.State == nmstate.StateAbsent && !matches: // it is absent already
			declared[i.Name] = true
		case !matches:
			failures = append(failures, fmt.Errorf("interfaces[%d].name: %s is an alternative name of %s, which is of type %s and not %s; choose another name", n, i.Name, link.Name, link.Kind, i.Type))
		case slices.ContainsFunc(doc.Interfaces, func(o nmstate.Interface) bool { return o.Name == link.Name && o.Kind() != nmstate.TypeOVSBridge }):
			failures = append(failures, fmt.Errorf("interfaces[%d].name: %s is an alternative name of %s, which the document has, too; write the settings of both in one entry", n, i.Name, link.Name))
		default:
			renamed[i.Name], i.Name = link.Name, link.Name
		}
	}
	for _, r := range doc.References() {
		if link, ok := byAltName(live, r.Name); ok && !declared[r.Name] && renamed[r.Name] == "" {
			renamed[r.Name] = link.Name
		}
	}
	return failures
}

// byAltName returns the link that a name means if no link has it as its own.
func byAltName(live State, name string) (*Link, bool) {
	if _, ok := live.Link(name); ok {
		return nil, false
	}
	return live.LinkByAltName(name)
}

// takenAltNames reports alternative names that a document gives to an interface while another link of the host has them.
func takenAltNames(doc *nmstate.Document, live State) []error {
	removed := map[string]string{}
	for _, i := range doc.Interfaces {
		for _, alt := range i.AltNames {
			if alt.Absent() {
				removed[alt.Name] = i.Name
			}
		}
	}
	var failures []error
	for n, i := range doc.Interfaces {
		for m, alt := range i.AltNames {
			if !i.Kept() || alt.Absent() {
				continue
			}
			path := fmt.Sprintf("interfaces[%d].alt-names[%d].name", n, m)
			if link, ok := live.Link(alt.Name); ok && link.Name != i.Name {
				failures = append(failures, fmt.Errorf("%s: this host has an interface %s; choose another name for %s", path, alt.Name, i.Name))
			}
			if link, ok := live.LinkByAltName(alt.Name); ok && link.Name != i.Name && removed[alt.Name] != link.Name {
				failures = append(failures, fmt.Errorf("%s: %s is an alternative name of %s on this host; choose another for %s, or remove it there with state: absent", path, alt.Name, link.Name, i.Name))
			}
		}
	}
	return failures
}

// AltNames is what is to become of the alternative names of one link.
type AltNames struct {
	Link        string
	Add, Remove []string
}

// AltNamesWanted returns what a document, made by Concrete, wants of alternative names.
func AltNamesWanted(doc *nmstate.Document) []AltNames {
	var out []AltNames
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if !i.Kept() || len(i.AltNames) == 0 {
			continue
		}
		want := AltNames{Link: i.Name}
		for _, alt := range i.AltNames {
			if alt.Absent() {
				want.Remove = append(want.Remove, alt.Name)
			} else {
				want.Add = append(want.Add, alt.Name)
			}
		}
		out = append(out, want)
	}
	return out
}

// AltNamesBefore returns what brings the alternative names of the links that a document has back to an earlier state. Names that links got from
// others in the meantime stay.
func AltNamesBefore(doc *nmstate.Document, before State) []AltNames {
	var out []AltNames
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if i.Kind() == nmstate.TypeOVSBridge {
			continue // an ovs-interface of that name has its own entry
		}
		back := AltNames{Link: i.Name}
		if link, ok := before.Link(i.Name); ok {
			back.Add = link.AltNames
		}
		for _, alt := range i.AltNames {
			if !slices.Contains(back.Add, alt.Name) {
				back.Remove = append(back.Remove, alt.Name)
			}
		}
		if len(back.Add)+len(back.Remove) > 0 {
			out = append(out, back)
		}
	}
	return out
}

// Missing returns the part of the names that a host does not have as wanted: to remove first, for a name may move from one link to another. A
// link that is not there has no names to remove.
func Missing(wanted []AltNames, live State) (remove, add []AltNames) {
	for _, w := range wanted {
		link, ok := live.Link(w.Link)
		has := func(name string) bool { return ok && slices.Contains(link.AltNames, name) }
		if names := slices.DeleteFunc(slices.Clone(w.Remove), func(name string) bool { return !has(name) }); len(names) > 0 {
			remove = append(remove, AltNames{Link: w.Link, Remove: names})
		}
		if names := slices.DeleteFunc(slices.Clone(w.Add), has); len(names) > 0 {
			add = append(add, AltNames{Link: w.Link, Add: names})
		}
	}
	return remove, add
}

// altNames compares the alternative names of an interface; others that it has are not looked at.
func (c *comparison) altNames(want *nmstate.Interface, have *Link) {
	for _, alt := range want.AltNames {
		wanted := "present"
		if alt.Absent() {
			wanted = "absent"
		}
		found := "absent"
		if slices.Contains(have.AltNames, alt.Name) {
			found = "present"
		}
		c.differ("alternative name "+alt.Name, wanted, found)
	}
}

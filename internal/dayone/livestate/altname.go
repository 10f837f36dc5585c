package livestate

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// callByName replaces names of interfaces that are alternative names of a link by the link's own name, and adds the replacements to renamed.
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

// byAltName returns the link with an alternative name, unless a link has it as its own name.
func byAltName(live State, name string) (*Link, bool) {
	if _, ok := live.Link(name); ok {
		return nil, false
	}
	return live.LinkByAltName(name)
}

// takenAltNames reports alternative names in a document that belong to another link of the host.
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

// AltNames are changes of the alternative names of a link.
type AltNames struct {
	Link        string
	Add, Remove []string
}

// AltNamesWanted returns the alternative names of a document, which is a result of Concrete.
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

// AltNamesBefore returns the changes that restore the alternative names of a document's links to an earlier state. Names that third parties have added since
// are kept.
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

// Missing returns the names to remove and to add on a host. Names must be removed first, since a name may move to another link. A missing link has no names to
// remove.
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

// altNames compares the alternative names of an interface. It ignores names that are not in the document.
func (c *comparison) altNames(want *nmstate.Interface, existing *Link) {
	for _, alt := range want.AltNames {
		wanted := "present"
		if alt.Absent() {
			wanted = "absent"
		}
		found := "absent"
		if slices.Contains(existing.AltNames, alt.Name) {
			found = "present"
		}
		c.differ("alternative name "+alt.Name, wanted, found)
	}
}

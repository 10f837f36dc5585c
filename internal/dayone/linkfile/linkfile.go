// Package linkfile writes the files of systemd (systemd.link(5)) with which udev gives network cards alternative names, before NetworkManager
// starts. They are for the time before the boot: on a running host, package hostapply sets the names. It is pure.
package linkfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Dir is where udev reads the files.
const Dir = "/etc/systemd/network"

// File is one file, in Dir.
type File struct {
	Name    string
	Content string
}

// Files returns a file for each network card of a document that gets alternative names. For a card, udev uses the first file that matches and no other, so a
// file repeats what the last one, 99-default.link, has for cards; otherwise the card would lose its own name.
func Files(doc *nmstate.Document) []File {
	var out []File
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if names := added(i); len(names) > 0 && i.Card() {
			out = append(out, File{Name: "98-cno-" + i.Name + ".link", Content: content(i, names)})
		}
	}
	return out
}

// Left returns warnings for the alternative names that Files leaves out.
func Left(doc *nmstate.Document) nmstate.Problems {
	var problems nmstate.Problems
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if len(added(i)) > 0 && !i.Card() {
			problems.Warnf(doc, fmt.Sprintf("interfaces[%d].alt-names", n), "is left out: before the boot only network cards get alternative names; host-network adds those of %s at the first boot", i.Name)
		}
	}
	return problems
}

// Unwritten returns a warning for each interface whose alternative names a form leaves out that has no place for files of systemd.
func Unwritten(doc *nmstate.Document, form string) nmstate.Problems {
	var problems nmstate.Problems
	for n := range doc.Interfaces {
		if i := &doc.Interfaces[n]; len(added(i)) > 0 {
			problems.Warnf(doc, fmt.Sprintf("interfaces[%d].alt-names", n), "is left out: %s cannot contain it; an Ignition configuration can (cno dayone render --as ignition), "+
				"and host-network adds the names at the first boot", form)
		}
	}
	return problems
}

// added returns the alternative names that an interface is to get.
func added(i *nmstate.Interface) []string {
	var names []string
	for _, alt := range i.AltNames {
		if i.Kept() && !alt.Absent() {
			names = append(names, alt.Name)
		}
	}
	return names
}

func content(i *nmstate.Interface, names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Match]\n%s\n\n[Link]\nNamePolicy=keep kernel database onboard slot path\nAlternativeNamesPolicy=database onboard slot path\n", match(i))
	for _, name := range names {
		fmt.Fprintf(&b, "AlternativeName=%s\n", name)
	}
	return b.String()
}

// predictable are the names that udev itself gives to cards (systemd.net-naming-scheme(7)), with the property that has the name already when
// the file is looked for. OriginalName matches the kernel's own name only: it is of no use for a card that udev has yet to rename.
var predictable = []struct {
	name     *regexp.Regexp
	property string
}{
	{regexp.MustCompile(`^(en|ib)o[0-9]`), "ID_NET_NAME_ONBOARD"},
	{regexp.MustCompile(`^(en|ib)(P[0-9]+)?p[0-9]+s[0-9]`), "ID_NET_NAME_PATH"},
	{regexp.MustCompile(`^(en|ib)(P[0-9]+)?s[0-9]`), "ID_NET_NAME_SLOT"},
	{regexp.MustCompile(`^(en|ib)x[0-9a-f]{12}$`), "ID_NET_NAME_MAC"},
}

// match returns the line that finds a card.
func match(i *nmstate.Interface) string {
	switch i.Identifier {
	case nmstate.IdentifierMAC:
		// A VLAN or a bond above the card has the same address, but not as its permanent one.
		return "PermanentMACAddress=" + strings.ToLower(i.MACAddress)
	case nmstate.IdentifierPCI:
		return "Path=pci-" + i.PCIAddress
	}
	for _, p := range predictable {
		if p.name.MatchString(i.Name) {
			return "Property=" + p.property + "=" + i.Name
		}
	}
	return "OriginalName=" + i.Name
}

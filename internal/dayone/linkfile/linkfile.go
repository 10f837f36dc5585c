// Package linkfile generates systemd.link(5) files, with which udev sets alternative names of network cards before NetworkManager starts. They are for boot
// images: on a running host, package hostapply sets the names. The package is pure.
package linkfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Dir is the directory of the files.
const Dir = "/etc/systemd/network"

// File is one file, in Dir.
type File struct {
	Name    string
	Content string
}

// Files returns a file for each network card of a document with alternative names. Since udev uses only the first matching file for a card, each file repeats
// the settings of 99-default.link, without which the card would lose its own name.
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

// Left returns warnings for the alternative names that Files omits.
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

// Unwritten returns a warning for each interface whose alternative names are omitted in a form that cannot contain files of systemd.
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

// added returns the alternative names to add to an interface.
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

// predictable are the predictable names of cards (systemd.net-naming-scheme(7)), with the udev property that has the name when the file is matched.
// OriginalName only matches the kernel's name, and so cannot match a card that udev has not renamed yet.
var predictable = []struct {
	name     *regexp.Regexp
	property string
}{
	{regexp.MustCompile(`^(en|ib)o[0-9]`), "ID_NET_NAME_ONBOARD"},
	{regexp.MustCompile(`^(en|ib)(P[0-9]+)?p[0-9]+s[0-9]`), "ID_NET_NAME_PATH"},
	{regexp.MustCompile(`^(en|ib)(P[0-9]+)?s[0-9]`), "ID_NET_NAME_SLOT"},
	{regexp.MustCompile(`^(en|ib)x[0-9a-f]{12}$`), "ID_NET_NAME_MAC"},
}

// match returns the line of the section [Match] for a card.
func match(i *nmstate.Interface) string {
	switch i.Identifier {
	case nmstate.IdentifierMAC:
		// VLANs and bonds may have the same MAC address as the card, but not as their permanent address.
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

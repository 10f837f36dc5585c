// Package nmconn turns a host's desired state into the connection profiles of NetworkManager, as keyfiles.
//
// The files are the ones that NMState's own generator makes, byte for byte, apart from what that one loses, ignores
// or writes so that NetworkManager drops the file; docs/day-one-keyfiles.md lists the differences. It is pure, and
// needs nothing of the host: what only a running host knows is refused here, and resolved before by package policy.
package nmconn

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// File is one connection profile.
type File struct {
	// Name has no directory. NetworkManager reads the file only with mode 0600 and owner root.
	Name    string
	Content string
}

// Generate returns the profiles in the order in which they can be activated, and everything that is wrong with the
// document. There are files exactly if no problem is an error. Options that a bond's mode does not have are written, as NMState
// writes them, with a warning; see Profiles.
func Generate(doc *nmstate.Document) ([]File, nmstate.Problems) { return newNetwork(doc).generate() }

// Profiles is Generate for a host that is to work with the files: it refuses options for which NetworkManager drops a whole file.
func Profiles(doc *nmstate.Document) ([]File, nmstate.Problems) {
	n := newNetwork(doc)
	n.strict = true
	return n.generate()
}

// Check returns what Profiles would refuse on a host: references to interfaces that are found by an address are no problem there, for
// the host knows their names by then.
func Check(doc *nmstate.Document) nmstate.Problems {
	n := newNetwork(doc)
	n.strict, n.onHost = true, true
	_, problems := n.generate()
	return problems
}

func (n *network) generate() ([]File, nmstate.Problems) {
	n.collect()
	n.relate()
	for _, i := range n.all() {
		n.check(i)
	}
	n.checkIgnored()
	if n.problems.HasErrors() {
		return nil, n.problems.Sorted()
	}
	files := n.files()
	if n.problems.HasErrors() {
		return nil, n.problems.Sorted()
	}
	return files, n.problems.Sorted()
}

// relate finds what one interface has to do with another: ports, copied MAC addresses, the order of activation, and
// the interfaces whose profiles hold routes, rules and name servers.
func (n *network) relate() {
	n.attachPorts()
	n.copyMACs()
	n.followReferences()
	n.setDepths()
	n.placeRoutes()
	n.placeRules()
	n.placeDNS()
}

// files writes the profiles of all interfaces.
func (n *network) files() []File {
	var out []File
	taken := map[string]string{}
	for _, i := range n.inOrder() {
		for _, p := range n.profiles(i) {
			if strings.ContainsAny(p.id, "/\x00\n") || strings.Trim(p.id, ".") == "" {
				n.errorf(i, "name", "gives a profile the name %q, which cannot be a file's name", p.id)
				continue
			}
			if other, ok := taken[p.id]; ok {
				n.errorf(i, "name", "gives a profile the name %q, which interface %s has already", p.id, other)
				continue
			}
			taken[p.id] = i.Name
			out = append(out, File{Name: p.id + ".nmconnection", Content: p.keys.String()})
		}
	}
	if out == nil {
		out = []File{}
	}
	return out
}

// checkIgnored says what of the document has no place in a keyfile.
func (n *network) checkIgnored() {
	d := n.doc
	if d.Hostname != nil && d.Hostname.Config != "" {
		n.problems.Warnf(d, "hostname.config", "is not part of any profile; the host's name comes from elsewhere")
	}
	if d.OVSDB != nil {
		n.problems.Warnf(d, "ovs-db", "is not part of any profile; set it once Open vSwitch runs")
	}
	if d.OVN != nil {
		n.problems.Warnf(d, "ovn", "is not part of any profile; set it once Open vSwitch runs")
	}
}

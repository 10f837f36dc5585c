// Package nmconn converts a host's desired state to connection profiles of NetworkManager, as keyfiles.
//
// The files are identical to those of NMState's generator, except for settings that it loses or ignores, or for which NetworkManager drops the file;
// docs/day-one-keyfiles.md lists the differences. The package is pure: it refuses settings that depend on a running host, which package policy resolves
// before.
package nmconn

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// File is a connection profile.
type File struct {
	// Name has no directory. NetworkManager reads the file only with mode 0600 and owner root.
	Name    string
	Content string
}

// Generate returns the profiles in the order of activation, and all problems of the document. There are files exactly if no problem is an error. Like NMState,
// it writes options that a bond's mode does not support, with a warning; see Profiles.
func Generate(doc *nmstate.Document) ([]File, nmstate.Problems) { return newNetwork(doc).generate() }

// Profiles is Generate for files that a host uses: it refuses settings for which NetworkManager drops a whole file.
func Profiles(doc *nmstate.Document) ([]File, nmstate.Problems) {
	n := newNetwork(doc)
	n.strict = true
	return n.generate()
}

// Check returns the problems of Profiles on a host, where references to interfaces that are identified by an address are resolved and no problem.
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

// relate resolves the relations between interfaces: ports, copied MAC addresses, the order of activation, and the interfaces whose profiles have routes, rules
// and name servers.
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
				n.errorf(i, "name", "gives a profile the name %q, which is not a valid file name", p.id)
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

// checkIgnored reports settings that keyfiles cannot contain.
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

// Package validation finds what would leave a host without a network that the cluster can use: documents by themselves, the files of a role, and
// the files of all roles together. It is pure.
package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// Surroundings are what is known of a cluster besides the files. All of it may be missing; what needs it is not
// checked then.
type Surroundings struct {
	// MachineNetworks are those in which all hosts have an address.
	MachineNetworks []netip.Prefix
	// VIPs are addresses that move between hosts, and that no document may give to one.
	VIPs []netip.Addr
	// Hosts are the names of the hosts of each role, short or full. Nil if they are not known.
	Hosts map[string][]string
	// WithoutBridge says that the cluster's network needs no br-ex: documents may leave it out.
	WithoutBridge bool
	// PreBoot are the documents with which hosts are booted before these, by short name.
	PreBoot map[string]*nmstate.Document
	// Documents holds what was read by earlier validations, and gets what this one reads. Nil if there are none.
	Documents *Documents
	// Locate returns a problem at the place where its document was written; nil if that is the document itself. A place
	// without a line has none.
	Locate func(nmstate.Problem) nmstate.Problem
}

// locate returns a problem at its place.
func (s Surroundings) locate(p nmstate.Problem) nmstate.Problem {
	if s.Locate == nil {
		return p
	}
	return s.Locate(p)
}

// PreBootName is the name of a host's document for the time before the boot, in problems.
func PreBootName(host string) string { return "before the boot of " + host }

// document is one file that could be read.
type document struct {
	role, file string
	*nmstate.Document
}

// Validate returns everything that is wrong with the files of all roles of a cluster: each by itself, and all
// together. Files that find things out on the host are only read: what they will say is not known.
func Validate(roles []placement.Role, s Surroundings) nmstate.Problems {
	var problems nmstate.Problems
	var documents []document
	known := s.Documents
	if known == nil {
		known = &Documents{}
	}
	for _, role := range roles {
		problems = append(problems, checkNames(role.Files)...)
		problems = append(problems, checkSize(role)...)
		for _, file := range role.Files.Documents() {
			doc, found := known.check(file, s.WithoutBridge)
			problems = append(problems, found...)
			if doc == nil {
				continue
			}
			documents = append(documents, document{role: role.Name, file: file.Name, Document: doc})
			if file.Name == placement.ClusterFile && sharers(role, s.Hosts) > 1 {
				problems = append(problems, checkShared(doc)...)
			}
		}
	}
	problems = append(problems, checkCollisions(roles)...)
	problems = append(problems, checkAddresses(documents, s)...)
	problems = append(problems, checkPreBoot(documents, s.PreBoot)...)
	for i := range problems {
		problems[i] = s.locate(problems[i])
	}
	return problems.Sorted()
}

// CheckFiles returns what keeps the files of a role from being used at all: names that are for no host, content that is
// no document, and sizes. Validate finds the same, and more.
func CheckFiles(role placement.Role) nmstate.Problems {
	problems := append(checkNames(role.Files), checkSize(role)...)
	for _, file := range role.Files.Documents() {
		_, found := read(file, true)
		problems = append(problems, found...)
	}
	return append(problems, checkCollisions([]placement.Role{role})...).Sorted()
}

// checkNames complains about names that no host can have, and about files that are not read.
func checkNames(files placement.Files) nmstate.Problems {
	var problems nmstate.Problems
	for _, file := range files {
		stem, isDocument := strings.CutSuffix(file.Name, placement.Extension)
		warning, message := true, ""
		switch {
		case file.Name == placement.ClusterFile || file.Name == placement.IndexFile:
		case !isDocument && strings.HasSuffix(strings.ToLower(file.Name), ".yaml"):
			message = fmt.Sprintf("is not read, since only files that end in %s are; rename it to %s", placement.Extension, file.Name[:len(file.Name)-len(".yaml")]+placement.Extension)
		case !isDocument:
			message = fmt.Sprintf("is not read, since only files that end in %s are", placement.Extension)
		case placement.CheckHostName(stem) != nil:
			warning, message = false, fmt.Sprintf("is for no host: %v", placement.CheckHostName(stem))
		case strings.Contains(stem, "."):
			message = fmt.Sprintf("has the full name of a host, by which OpenShift's own service never finds it; rename it to %s", placement.FileName(stem))
		}
		if message != "" {
			problems = append(problems, nmstate.Problem{File: file.Name, Message: message, Warning: warning})
		}
	}
	return problems
}

// checkCollisions complains about files that are for the same host, in one role or in two.
func checkCollisions(roles []placement.Role) nmstate.Problems {
	var problems nmstate.Problems
	seen := map[string]string{}
	for _, role := range roles {
		for _, file := range role.Files.Documents() {
			short := placement.ShortName(strings.TrimSuffix(file.Name, placement.Extension))
			if file.Name == placement.ClusterFile {
				continue
			}
			if other, ok := seen[short]; ok {
				problems = append(problems, nmstate.Problem{File: file.Name, Message: fmt.Sprintf("is for the host %s, as %s is; host names must differ before the first dot", short, other)})
				continue
			}
			seen[short] = fmt.Sprintf("%s of role %s", file.Name, role.Name)
		}
	}
	return problems
}

func checkSize(role placement.Role) nmstate.Problems {
	_, size, err := machineconfig.Pack(role.Name, role.Files)
	switch {
	case err != nil:
		return nmstate.Problems{{Message: err.Error()}}
	case size > machineconfig.WarnSize:
		return nmstate.Problems{{Warning: true, Message: fmt.Sprintf("the MachineConfig of role %s has %d bytes of the %d that a role can have in all", role.Name, size, machineconfig.MaxSize)}}
	}
	return nil
}

// sharers returns how many hosts get cluster.yml. It is many if the hosts are not known.
func sharers(role placement.Role, hosts map[string][]string) int {
	names, known := hosts[role.Name]
	if !known {
		return len(role.Files) + 2
	}
	without := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		choice, err := placement.Select(role.Files, placement.Host{Name: name})
		return err != nil || choice.Rule != placement.ByDefault
	})
	return len(without)
}

// checkShared complains about what only one host can have.
func checkShared(doc *nmstate.Document) nmstate.Problems {
	var problems nmstate.Problems
	for i := range doc.Interfaces {
		iface := &doc.Interfaces[i]
		for _, a := range iface.Static() {
			if !a.IP.IsLinkLocalUnicast() {
				problems.Errorf(doc, fmt.Sprintf("interfaces[%d].%s", i, a.Path), "%s has the address %s, which all hosts that share this file would get; use DHCP, or a file for each host", iface.Name, a.IP)
			}
		}
		if iface.MACAddress != "" && iface.Up() {
			problems.Errorf(doc, fmt.Sprintf("interfaces[%d].mac-address", i), "%s has the address %s, which all hosts that share this file would get; copy it from a network card (copy-mac-from), or use a file for each host", iface.Name, iface.MACAddress)
		}
	}
	return problems
}

// Package validation reports problems that would leave a host without a network that the cluster can use: of single documents, of the files of a role, and of
// the files of all roles. It is pure.
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

// Surroundings have known properties of a cluster. All fields are optional; checks that need a missing field are skipped.
type Surroundings struct {
	// MachineNetworks are the networks in which all hosts have an address.
	MachineNetworks []netip.Prefix
	// VIPs are virtual addresses, which documents must not assign to a host.
	VIPs []netip.Addr
	// Hosts are the names of the hosts of each role, short or full; nil if unknown.
	Hosts map[string][]string
	// WithoutBridge is true if the cluster's network does not need br-ex, which documents may then omit.
	WithoutBridge bool
	// PreBoot are the documents of hosts before the boot, by short name.
	PreBoot map[string]*nmstate.Document
	// Documents is a cache of parsed files, which the validation uses and extends; it may be nil.
	Documents *Documents
	// Locate converts the position of a problem to that in the original file of the document; nil if the document is a separate file.
	Locate func(nmstate.Problem) nmstate.Problem
}

// locate returns a problem at its original position.
func (s Surroundings) locate(p nmstate.Problem) nmstate.Problem {
	if s.Locate == nil {
		return p
	}
	return s.Locate(p)
}

// PreBootName returns the name of a host's document for PreBoot in problems.
func PreBootName(host string) string { return "before the boot of " + host }

// document is a valid file.
type document struct {
	role, file string
	*nmstate.Document
}

// Validate returns all problems of the files of all roles of a cluster, of each file and of all together. Files with captures are only parsed.
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
			if file.Name == placement.ClusterFile && sharedBy(role, s.Hosts) > 1 {
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

// CheckFiles returns problems that prevent the use of the files of a role: names of no host, invalid documents, and sizes. Validate includes them.
func CheckFiles(role placement.Role) nmstate.Problems {
	problems := append(checkNames(role.Files), checkSize(role)...)
	for _, file := range role.Files.Documents() {
		_, found := read(file, true)
		problems = append(problems, found...)
	}
	return append(problems, checkCollisions([]placement.Role{role})...).Sorted()
}

// checkNames reports names that no host can have, and files that are ignored.
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

// checkCollisions reports files for the same host, in one role or in two.
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

// sharedBy returns the number of hosts that use cluster.yml; a large number if the hosts are unknown.
func sharedBy(role placement.Role, hosts map[string][]string) int {
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

// checkShared reports settings that only one host can have.
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

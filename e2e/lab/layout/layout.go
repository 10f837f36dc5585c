// Package layout says where the files of a lab lie. It knows paths only and
// touches none of them.
//
// Three directories are used. The state directory, in the checkout, holds what a
// user looks at: programs, kubeconfig, certificates, logs. The run directory holds
// what is true of running processes only. The disk directory holds what a node would
// have on its disk. The last two are outside the checkout: a lab is known to the
// whole machine by its name.
package layout

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// Variable is the environment variable that names the lab a command is about. It is
// unset for the one that a person uses.
const Variable = "CNO_LAB"

// base is what the directories, the lock and the control groups of every lab
// begin with.
const base = "cno-lab"

// named is what a name may be: the paths of sockets are limited to 107 bytes.
var named = regexp.MustCompile(`^[a-z0-9]{1,8}$`)

// Layout is where one checkout keeps a lab.
type Layout struct {
	// Root is the checkout, Cache the directory of built programs and images
	// that checkouts share.
	Root, Cache string
	// Lab is the name of the lab; empty is the one without a name. Labs with
	// different names run beside one another.
	Lab string
}

// CheckName returns an error unless a lab can have that name.
func CheckName(name string) error {
	if name != "" && !named.MatchString(name) {
		return fmt.Errorf("%q is no name of a lab (--name, %s): it has one to eight small letters and digits", name, Variable)
	}
	return nil
}

// name is the name of the lab among all on the machine.
func (l Layout) name() string {
	if l.Lab == "" {
		return base
	}
	return base + "-" + l.Lab
}

// Run is the directory of records and sockets of the running lab. Unix socket
// paths are limited to 107 bytes, so it is not below the checkout.
func (l Layout) Run() string { return filepath.Join("/run", l.name()) }

// Lock serialises the commands that change the lab.
func (l Layout) Lock() string { return l.Run() + ".lock" }

// Suite is locked by the test program that has the lab to itself.
func (l Layout) Suite() string { return l.Run() + ".suite" }

// Disks holds one directory per node. Overlay file systems lie there, so it must
// not be on one itself.
func (l Layout) Disks() string { return filepath.Join("/var/lib", l.name()) }

// Cgroup is the branch of the lab in the control groups of the machine.
func (l Layout) Cgroup() string { return "/" + l.name() }

// Labs lists the names of all labs that have been on the machine: each had a lock.
func Labs() ([]string, error) {
	locks, err := filepath.Glob("/run/" + base + "*.lock")
	if err != nil {
		return nil, fmt.Errorf("list the labs: %w", err)
	}
	var names []string
	for _, lock := range locks {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(lock), base), ".lock")
		names = append(names, strings.TrimPrefix(name, "-"))
	}
	return names, nil
}

// State is the directory of everything a user may look at.
func (l Layout) State() string {
	if l.Lab == "" {
		return l.shared()
	}
	return filepath.Join(l.Root, "_output", "labs", l.Lab)
}

// shared is the directory of what all labs of the checkout use.
func (l Layout) shared() string { return filepath.Join(l.Root, "_output", "lab") }

// Bin holds links to the built programs, for all labs of the checkout.
func (l Layout) Bin() string { return filepath.Join(l.shared(), "bin") }

// ProgramsFor holds the links to programs for an architecture; empty is that of this machine.
func (l Layout) ProgramsFor(arch string) string {
	if arch == "" || arch == runtime.GOARCH {
		return l.Bin()
	}
	return l.Bin() + "-" + arch
}

// Program is the path of a built program.
func (l Layout) Program(name string) string { return filepath.Join(l.Bin(), name) }

// Images holds the container images the lab loads into its nodes.
func (l Layout) Images() string { return filepath.Join(l.State(), "images") }

// PKI holds the certificates of the cluster.
func (l Layout) PKI() string { return filepath.Join(l.State(), "pki") }

// Kubeconfig gives cluster-admin rights through the forwarded API server.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State(), "kubeconfig") }

// Logs holds a directory of logs a node.
func (l Layout) Logs() string { return filepath.Join(l.State(), "logs") }

// NodeLogs holds the logs of one node's programs.
func (l Layout) NodeLogs(node string) string { return filepath.Join(l.Logs(), node) }

// Components holds the build modules of the programs.
func (l Layout) Components() string { return filepath.Join(l.Root, "e2e", "components") }

// Conformance holds the results of the conformance run.
func (l Layout) Conformance() string { return filepath.Join(l.State(), "conformance") }

// Record is the description of the running lab.
func (l Layout) Record() string { return filepath.Join(l.Run(), "lab.json") }

// Process is the record of one long-lived process of the lab.
func (l Layout) Process(name string) string { return filepath.Join(l.Run(), name+".process") }

// Socket is where the init process of a node listens.
func (l Layout) Socket(node string) string { return filepath.Join(l.Run(), node+".sock") }

// Disk is the directory of what a node keeps while it is off.
func (l Layout) Disk(node string) string { return filepath.Join(l.Disks(), node) }

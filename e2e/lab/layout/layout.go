// Package layout defines the paths of the files of a lab. It does not access them.
//
// A lab has three directories. The state directory, in the checkout, contains files
// for users: programs, kubeconfig, certificates, logs. The run directory contains
// the records of running processes. The disk directory contains the disks of nodes.
// The last two are outside the checkout, because the name of a lab is unique on the
// machine.
package layout

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// Variable is the environment variable with the name of the lab. It is unset for
// the default lab.
const Variable = "CNO_LAB"

// base is the prefix of the directories, the lock and the control groups of every
// lab.
const base = "cno-lab"

// named matches valid names. They are short because the paths of sockets are limited to 107 bytes.
var named = regexp.MustCompile(`^[a-z0-9]{1,8}$`)

// Layout has the paths of a lab of a checkout.
type Layout struct {
	// Root is the checkout, Cache the directory of built programs and images
	// that checkouts share.
	Root, Cache string
	// Lab is the name of the lab; empty is the default lab. Labs with different
	// names can run at the same time.
	Lab string
}

// CheckName returns an error unless a lab can have that name.
func CheckName(name string) error {
	if name != "" && !named.MatchString(name) {
		return fmt.Errorf("%q is no name of a lab (--name, %s): it must have one to eight lowercase letters and digits", name, Variable)
	}
	return nil
}

// name returns the name of the lab, unique on the machine.
func (l Layout) name() string {
	if l.Lab == "" {
		return base
	}
	return base + "-" + l.Lab
}

// Run returns the directory of records and sockets of the running lab. Unix socket
// paths are limited to 107 bytes, so it is not below the checkout.
func (l Layout) Run() string { return filepath.Join("/run", l.name()) }

// Lock serialises the commands that change the lab.
func (l Layout) Lock() string { return l.Run() + ".lock" }

// Suite returns the lock of the test binary that uses the lab exclusively.
func (l Layout) Suite() string { return l.Run() + ".suite" }

// Disks returns the directory with one directory per node. It must not be on an
// overlay file system, because the overlays of nodes are in it.
func (l Layout) Disks() string { return filepath.Join("/var/lib", l.name()) }

// Cgroup returns the control group of the lab.
func (l Layout) Cgroup() string { return "/" + l.name() }

// Labs returns the names of all labs that have existed on the machine: each has left a lock.
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

// State returns the directory of files for users.
func (l Layout) State() string {
	if l.Lab == "" {
		return l.shared()
	}
	return filepath.Join(l.Root, "_output", "labs", l.Lab)
}

// shared returns the directory that all labs of the checkout use.
func (l Layout) shared() string { return filepath.Join(l.Root, "_output", "lab") }

// Bin returns the directory of links to the built programs, for all labs of the checkout.
func (l Layout) Bin() string { return filepath.Join(l.shared(), "bin") }

// ProgramsFor returns the directory of links to programs for an architecture; empty means that of this machine.
func (l Layout) ProgramsFor(arch string) string {
	if arch == "" || arch == runtime.GOARCH {
		return l.Bin()
	}
	return l.Bin() + "-" + arch
}

// ProgramsOf returns the directory of links to the programs of nodes of a version of Kubernetes.
func (l Layout) ProgramsOf(kubernetes string) string { return l.Bin() + "-" + kubernetes }

// Program returns the path of a built program.
func (l Layout) Program(name string) string { return filepath.Join(l.Bin(), name) }

// Images returns the directory of the images that the lab loads into its nodes.
func (l Layout) Images() string { return filepath.Join(l.State(), "images") }

// PKI returns the directory of the cluster's certificates.
func (l Layout) PKI() string { return filepath.Join(l.State(), "pki") }

// Kubeconfig returns the path of the kubeconfig with cluster-admin permissions for the forwarded address of the API server.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State(), "kubeconfig") }

// Logs returns the directory with one directory of logs per node.
func (l Layout) Logs() string { return filepath.Join(l.State(), "logs") }

// NodeLogs returns the directory of the logs of a node.
func (l Layout) NodeLogs(node string) string { return filepath.Join(l.Logs(), node) }

// Components returns the directory of the build modules of the programs.
func (l Layout) Components() string { return filepath.Join(l.Root, "e2e", "components") }

// Conformance returns the directory of the results of conformance tests.
func (l Layout) Conformance() string { return filepath.Join(l.State(), "conformance") }

// Record returns the path of the record of the running lab.
func (l Layout) Record() string { return filepath.Join(l.Run(), "lab.json") }

// Process returns the path of the record of a long-lived process of the lab.
func (l Layout) Process(name string) string { return filepath.Join(l.Run(), name+".process") }

// Socket returns the path of the socket of a node's init process.
func (l Layout) Socket(node string) string { return filepath.Join(l.Run(), node+".sock") }

// Disk returns the directory of a node's persistent files.
func (l Layout) Disk(node string) string { return filepath.Join(l.Disks(), node) }

// Package layout says where the files of a lab lie. It knows paths only and
// touches none of them.
//
// Three places are used. The state folder, in the checkout, holds what a user
// looks at: programs, kubeconfig, certificates, logs. The run folder holds what
// is true of running processes only, and is one for the machine, as there is at
// most one lab on it. The disk folder holds what a node would have on its disk.
package layout

import "path/filepath"

const (
	// Run is the folder of records and sockets of the running lab. Unix socket
	// paths are limited to 107 bytes, so it is not below the checkout.
	Run = "/run/cno-lab"
	// Lock serialises the commands that change the lab.
	Lock = "/run/cno-lab.lock"
	// Disks holds a folder a node. Overlay file systems lie there, so it must
	// not be on one itself.
	Disks = "/var/lib/cno-lab"
)

// Layout is where one checkout keeps its lab.
type Layout struct {
	// Root is the checkout, Cache the folder of built programs and images
	// that checkouts share.
	Root, Cache string
}

// State is the folder of everything a user may look at.
func (l Layout) State() string { return filepath.Join(l.Root, "_output", "lab") }

// Bin holds links to the built programs.
func (l Layout) Bin() string { return filepath.Join(l.State(), "bin") }

// Program is the path of a built program.
func (l Layout) Program(name string) string { return filepath.Join(l.Bin(), name) }

// Images holds the container images the lab loads into its nodes.
func (l Layout) Images() string { return filepath.Join(l.State(), "images") }

// PKI holds the certificates of the cluster.
func (l Layout) PKI() string { return filepath.Join(l.State(), "pki") }

// Kubeconfig gives cluster-admin rights through the forwarded API server.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State(), "kubeconfig") }

// Logs holds a folder of logs a node.
func (l Layout) Logs() string { return filepath.Join(l.State(), "logs") }

// NodeLogs holds the logs of one node's programs.
func (l Layout) NodeLogs(node string) string { return filepath.Join(l.Logs(), node) }

// Components holds the build modules of the programs.
func (l Layout) Components() string { return filepath.Join(l.Root, "e2e", "components") }

// Conformance holds the results of the conformance run.
func (l Layout) Conformance() string { return filepath.Join(l.State(), "conformance") }

// Record is the description of the running lab.
func Record() string { return filepath.Join(Run, "lab.json") }

// Process is the record of one long-lived process of the lab.
func Process(name string) string { return filepath.Join(Run, name+".process") }

// Socket is where the init process of a node listens.
func Socket(node string) string { return filepath.Join(Run, node+".sock") }

// Disk is the folder of what a node keeps while it is off.
func Disk(node string) string { return filepath.Join(Disks, node) }

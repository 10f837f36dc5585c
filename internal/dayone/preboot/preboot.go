// Package preboot validates a host's document for the time before its first boot, and packs it for the boot image.
//
// At that time, the host's state is unknown, and only NetworkManager of the initial file system is available. Check refuses Open vSwitch, captures, and other
// settings that depend on the running host, with the reason and a solution. All of them are allowed in a document that a host applies at its first boot.
package preboot

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Reasons and solutions, as ends of messages.
const (
	noOVS = "Open vSwitch is not available before the boot; configure it in the document for the first boot, " +
		"and give the host here what it needs to reach the cluster (the addresses on the interface below the bridge)"
	noHost = "before the boot the host's state is not known; set it in the document, or in the document for the first boot"
)

// Parse parses and checks a document. The document is nil exactly if a problem is an error.
func Parse(name string, data []byte) (*nmstate.Document, nmstate.Problems) {
	doc, problems := read(name, data)
	if doc == nil {
		return nil, problems
	}
	problems = append(problems, Check(doc)...)
	if problems.HasErrors() {
		return nil, problems.Sorted()
	}
	return doc, problems.Sorted()
}

// read parses a document. The document is nil if a problem is an error.
func read(name string, data []byte) (*nmstate.Document, nmstate.Problems) {
	root, problems := nmstate.Root(name, data)
	if problems != nil {
		return nil, problems
	}
	if problems := policyProblems(name, root); len(problems) > 0 {
		return nil, problems
	}
	return nmstate.Decode(name, root)
}

// Check returns the settings of a document that cannot be applied before the boot.
func Check(doc *nmstate.Document) nmstate.Problems {
	var problems nmstate.Problems
	if doc.OVSDB != nil {
		problems.Errorf(doc, "ovs-db", "is about Open vSwitch: %s", noOVS)
	}
	if doc.OVN != nil {
		problems.Errorf(doc, "ovn", "is about OVN, which runs on Open vSwitch: %s", noOVS)
	}
	if doc.Hostname != nil {
		problems.Warnf(doc, "hostname", "is not set before the boot: files of NetworkManager cannot name the host")
	}
	for i := range doc.Interfaces {
		if face := &doc.Interfaces[i]; face.Kept() {
			checkInterface(doc, face, fmt.Sprintf("interfaces[%d]", i), &problems)
		}
	}
	return problems
}

func checkInterface(doc *nmstate.Document, face *nmstate.Interface, path string, problems *nmstate.Problems) {
	if isOVS(string(face.Kind())) {
		problems.Errorf(doc, path+".type", "%s is of type %s: %s", face.Name, face.Kind(), noOVS)
		return
	}
	if face.OVSDB != nil {
		problems.Errorf(doc, path+".ovs-db", "%s: %s", face.Name, noOVS)
	}
	if from := face.CopyMACFrom; from != "" && !knowsMAC(doc, from) {
		problems.Errorf(doc, path+".copy-mac-from", "the MAC address of %q is not in the document, and %s "+
			"(give %s a mac-address, or write mac-address here)", from, noHost, from)
	}
	if face.Dispatch != nil {
		problems.Errorf(doc, path+".dispatch", "scripts run on the live host; %s", noHost)
	}
}

func isOVS(kind string) bool { return strings.HasPrefix(kind, "ovs-") }

// knowsMAC reports whether the document has the MAC address of an interface.
func knowsMAC(doc *nmstate.Document, name string) bool {
	for i := range doc.Interfaces {
		if f := &doc.Interfaces[i]; f.Name == name && f.MACAddress != "" && !isOVS(string(f.Kind())) {
			return true
		}
	}
	return false
}

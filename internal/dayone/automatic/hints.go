// Package automatic generates the configuration of a host that has none: an Open vSwitch bridge br-ex over the uplink interface, with that interface's
// addresses, routes and MAC address. The result is a document, so that the same engine applies it, verifies it, and rolls it back. The package is pure.
package automatic

import (
	"errors"
	"io/fs"
	"strings"
)

// Files that select interfaces, as paths below /. Administrators write the first two.
const (
	DefaultBridgeFile = "etc/ovnk/default_bridge"
	ExtraBridgeFile   = "etc/ovnk/extra_bridge"
	PrimaryIPFile     = "run/nodeip-configuration/primary-ip"
	// StoredFile has the interface of an earlier boot.
	StoredFile = "var/lib/ovnk/iface_default_hint"
)

// Hints is the content of these files; empty for missing files.
type Hints struct {
	// DefaultBridge and ExtraBridge are the interfaces for br-ex and br-ex1.
	DefaultBridge, ExtraBridge string
	// PrimaryIP is the node's address.
	PrimaryIP string
	// Stored is the uplink of an earlier boot.
	Stored string
}

// ReadHints reads the files below a root.
func ReadHints(root fs.FS) (Hints, error) {
	var h Hints
	for path, into := range map[string]*string{
		DefaultBridgeFile: &h.DefaultBridge, ExtraBridgeFile: &h.ExtraBridge, PrimaryIPFile: &h.PrimaryIP, StoredFile: &h.Stored,
	} {
		data, err := fs.ReadFile(root, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
		*into = strings.TrimSpace(string(data))
		if err == nil && *into == "" && path == DefaultBridgeFile {
			return h, errors.New("/" + DefaultBridgeFile + " is empty; write the name of an interface into it, or remove it")
		}
	}
	return h, nil
}

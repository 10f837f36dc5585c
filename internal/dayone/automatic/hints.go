// Package automatic makes the configuration of a host that has none: a bridge br-ex of Open vSwitch over the interface that leads out, with that
// interface's addresses, routes and hardware address. What it makes is a document like any other, so the same
// engine applies it, verifies it, and rolls it back. It is pure.
package automatic

import (
	"errors"
	"io/fs"
	"strings"
)

// Files that say which interface is to be used, as paths below /. The first two are an administrator's.
const (
	DefaultBridgeFile = "etc/ovnk/default_bridge"
	ExtraBridgeFile   = "etc/ovnk/extra_bridge"
	PrimaryIPFile     = "run/nodeip-configuration/primary-ip"
	// StoredFile holds the interface that was used at an earlier boot.
	StoredFile = "var/lib/ovnk/iface_default_hint"
)

// Hints are what those files say; empty where there is no file.
type Hints struct {
	// DefaultBridge and ExtraBridge name interfaces for br-ex and br-ex1.
	DefaultBridge, ExtraBridge string
	// PrimaryIP is the address that the node will be known by.
	PrimaryIP string
	// Stored is the interface of an earlier boot.
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

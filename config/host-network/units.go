// Package hostnetwork holds the systemd units of the program host-network and its file for NetworkManager, to be installed
// on a host.
package hostnetwork

import "embed"

// Files are the units, and host-network.conf for NetworkManager's conf.d.
//
//go:embed *.service *.path *.conf
var Files embed.FS

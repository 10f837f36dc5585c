// Package sysctls is the list of sysctls that pods may set on their further interfaces by the CNI plugin tuning, unless an administrator writes
// another one. Nodes get it when the plugins are installed: without a list, the plugin allows every sysctl.
package sysctls

import _ "embed" // the list

// File is where the plugin reads the list on a node.
const File = "/etc/cni/tuning/allowlist.conf"

//go:embed allowlist.conf
var standard string

// Default is the list: regular expressions, one a line, for settings that affect nothing but the interface of the pod.
func Default() string { return standard }

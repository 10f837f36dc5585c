// Package sysctls has the default list of sysctls that pods may set on their further interfaces with the CNI plugin tuning. Administrators can replace
// it. The list is installed on nodes together with the plugins: without a list, the plugin allows every sysctl.
package sysctls

import _ "embed" // the list

// File is the path of the list on a node.
const File = "/etc/cni/tuning/allowlist.conf"

//go:embed allowlist.conf
var standard string

// Default returns the list: regular expressions, one per line, for sysctls that only affect the interface of the pod.
func Default() string { return standard }

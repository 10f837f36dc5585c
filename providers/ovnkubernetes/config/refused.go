package config

import (
	"fmt"
	"maps"
	"slices"
)

// refused has the unsupported settings of OVN-Kubernetes, by flag or by key of the file, with the reason.
var refused = map[string]string{
	"conntrack-zone":          "Open vSwitch shares no connection tracking with the node",
	"gateway-interface":       "the gateway mode is local: pods leave through the routes of their node",
	"gateway-local":           "the gateway mode is local already; remove the flag",
	"gateway-localnet":        "the gateway mode is local already; remove the flag",
	"gateway-nexthop":         "the gateway mode is local: pods leave through the routes of their node",
	"gateway-spare-interface": "the gateway mode is local: pods leave through the routes of their node",
	"ha":                      "masters elect a leader, and the databases are rebuilt from the Kubernetes API",
	"init-gateways":           "every node is a gateway for its own pods",
	"logfile":                 "logs are written to standard error",
	"nodeport":                "kube-proxy serves node ports",
	"pidfile":                 "the container runtime manages the process",
	"remove-node":             "masters remove a node when its Node object is deleted",
	"enable-interconnect":     "all nodes share one pair of databases",
}

// Refused returns the unsupported flags, sorted.
func Refused() []string { return slices.Sorted(maps.Keys(refused)) }

// RefusedError returns the error of an unsupported flag.
func RefusedError(flag string) error {
	return fmt.Errorf("--%s is not supported: %s", flag, refused[flag])
}

func refusedKey(key string) error {
	for name, reason := range refused {
		if len(key) > len(name) && key[len(key)-len(name)-1:] == "."+name {
			return fmt.Errorf("%s: key %s is not supported: %s", File, key, reason)
		}
	}
	return fmt.Errorf("%s: key %s is not known", File, key)
}

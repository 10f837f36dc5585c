package etcdcluster

import (
	"errors"
	"slices"
)

// Settings say which etcd a network uses. Exactly one of the two is set.
type Settings struct {
	Managed  *Managed  `json:"managed,omitempty"`
	External *External `json:"external,omitempty"`
}

// Managed is an etcd that the operator runs.
type Managed struct {
	ClientPort uint16 `json:"clientPort"`
	PeerPort   uint16 `json:"peerPort"`
	// Image is what members are to run.
	Image string `json:"image"`
}

// External is an etcd that a third party runs.
type External struct {
	Endpoints []string `json:"endpoints"`
	// CAConfigMap and ClientSecret name objects in the operator's namespace. Both are empty with http endpoints;
	// ClientSecret is if the members ask for no certificate.
	CAConfigMap  string `json:"caConfigMap,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
}

// Check returns an error for settings that no one could act on.
func (s Settings) Check() error {
	if (s.Managed == nil) == (s.External == nil) {
		return errors.New("either a managed or an external etcd must be named")
	}
	return nil
}

// Encrypted reports whether etcd is reached with TLS.
func (s Settings) Encrypted() bool { return s.Managed != nil || s.External.CAConfigMap != "" }

// Endpoints returns the URLs of the etcd members that agents connect to, sorted. It includes members that are only
// about to join, so that agents need not be told of each step of it.
func (s Settings) Endpoints(m Membership) []string {
	if s.External != nil {
		return slices.Sorted(slices.Values(s.External.Endpoints))
	}
	out := []string{}
	for _, member := range m.Members {
		out = append(out, member.ClientURL)
	}
	slices.Sort(out)
	return out
}

package etcdcluster

import (
	"errors"
	"slices"
)

// Settings select the etcd of a network. Exactly one field is set.
type Settings struct {
	Managed  *Managed  `json:"managed,omitempty"`
	External *External `json:"external,omitempty"`
}

// Managed is an etcd that the operator runs.
type Managed struct {
	ClientPort uint16 `json:"clientPort"`
	PeerPort   uint16 `json:"peerPort"`
	// Image is the desired image of members.
	Image string `json:"image"`
}

// External is an etcd that a third party runs.
type External struct {
	Endpoints []string `json:"endpoints"`
	// CAConfigMap and ClientSecret are names of objects in the operator's namespace. Both are empty with http endpoints; ClientSecret is also
	// empty if the members require no client certificate.
	CAConfigMap  string `json:"caConfigMap,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
}

// Check returns an error unless exactly one field is set.
func (s Settings) Check() error {
	if (s.Managed == nil) == (s.External == nil) {
		return errors.New("exactly one of managed and external must be set")
	}
	return nil
}

// Encrypted reports whether connections to etcd use TLS.
func (s Settings) Encrypted() bool { return s.Managed != nil || s.External.CAConfigMap != "" }

// Endpoints returns the client URLs of the members, sorted. It includes members in the state Promised, so that the agents' configuration does not change
// with every step.
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

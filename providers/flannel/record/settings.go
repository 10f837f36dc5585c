package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Settings are what the operator's loop needs to know of the applied specification, beside the configuration of
// the agents. Exactly one of the two is set.
type Settings struct {
	Managed  *Managed  `json:"managed,omitempty"`
	External *External `json:"external,omitempty"`
	// Migration is set while the MTU is being changed.
	Migration *Migration `json:"migration,omitempty"`
}

// Migration is a change of the MTU, in bytes.
type Migration struct {
	// From is what pods had, To what they are to have.
	From int `json:"from"`
	To   int `json:"to"`
	// Announced is true while the specification asks for it; otherwise it is being taken back, or completed.
	Announced bool `json:"announced"`
}

// Managed is the etcd that the operator runs.
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

// Encode writes settings out as JSON.
func (s Settings) Encode() (string, error) {
	out, err := json.MarshalIndent(s, "", "  ")
	return string(out) + "\n", err
}

// DecodeSettings reads settings, and refuses those that a loop could not act on.
func DecodeSettings(content string) (Settings, error) {
	var s Settings
	if err := json.Unmarshal([]byte(content), &s); err != nil {
		return Settings{}, fmt.Errorf("decode settings of flannel's etcd: %w", err)
	}
	if (s.Managed == nil) == (s.External == nil) {
		return Settings{}, errors.New("decode settings of flannel's etcd: either a managed or an external etcd must be named")
	}
	return s, nil
}

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

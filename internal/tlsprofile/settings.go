// Package tlsprofile converts the TLS profile of an OpenShift cluster into settings of TLS servers. It is pure.
package tlsprofile

import (
	"crypto/tls"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// The values of spec.tlsAdherence of an APIServer. It is empty in clusters whose API does not have the field. Unknown values
// count as strict, so that a future value does not count as the lax one.
const (
	// LegacyAdherence keeps the defaults of components that never used the profile.
	LegacyAdherence = "LegacyAdheringComponentsOnly"
	// StrictAdherence applies the profile to all components.
	StrictAdherence = "StrictAllComponents"
)

// Settings are the settings of TLS servers. The zero value means the servers' own defaults.
type Settings struct {
	// MinVersion is the oldest version of the protocol: VersionTLS10 to VersionTLS13. Empty in the zero value only.
	MinVersion string
	// CipherSuites are the suites of the profile that Go supports, by their IANA names, in the profile's order, without those of
	// TLS 1.3, which cannot be configured. It is empty if MinVersion is VersionTLS13, or if there are none.
	CipherSuites []string
	// Ciphers are the suites of the profile by their OpenSSL names, in its order. Those of TLS 1.3 have the IANA names.
	Ciphers []string
}

// Resolve returns the settings for a profile and an adherence. Without a profile, strict adherence uses the Intermediate
// one, as the API server does, and an empty adherence returns the zero value. Legacy adherence always returns the zero value.
func Resolve(profile *configv1.TLSSecurityProfile, adherence string) Settings {
	switch {
	case adherence == LegacyAdherence, profile == nil && adherence == "":
		return Settings{}
	case profile == nil:
		profile = &configv1.TLSSecurityProfile{}
	}
	spec := specOf(profile)
	s := Settings{MinVersion: string(spec.MinTLSVersion), Ciphers: slices.Clone(spec.Ciphers)}
	if _, known := versions[s.MinVersion]; !known {
		s.MinVersion = string(configv1.VersionTLS12)
	}
	if s.MinVersion == string(configv1.VersionTLS13) {
		return s
	}
	for _, c := range spec.Ciphers {
		if name := suite(c); name != "" && !slices.Contains(s.CipherSuites, name) {
			s.CipherSuites = append(s.CipherSuites, name)
		}
	}
	return s
}

// specOf returns the specification of a profile. One without type, and an empty Custom one, mean Intermediate.
func specOf(profile *configv1.TLSSecurityProfile) configv1.TLSProfileSpec {
	if profile.Type == configv1.TLSProfileCustomType && profile.Custom != nil {
		return profile.Custom.TLSProfileSpec
	}
	if spec := configv1.TLSProfiles[profile.Type]; spec != nil {
		return *spec
	}
	return *configv1.TLSProfiles[configv1.TLSProfileIntermediateType]
}

// Apply configures a server of this project with the secure part of the settings: at least TLS 1.2, and without suites that
// Go considers insecure. If no suite is left, it keeps Go's defaults.
func (s Settings) Apply(config *tls.Config) {
	config.MinVersion = max(versions[s.MinVersion], tls.VersionTLS12)
	config.CipherSuites = nil
	for _, existing := range tls.CipherSuites() {
		if slices.Contains(s.CipherSuites, existing.Name) {
			config.CipherSuites = append(config.CipherSuites, existing.ID)
		}
	}
}

// Flags returns the flags --tls-min-version and --tls-cipher-suites of this project's binaries for the same settings as Apply; none for the
// zero value.
func (s Settings) Flags() []string {
	if s.IsZero() {
		return nil
	}
	var config tls.Config
	s.Apply(&config)
	least := configv1.VersionTLS12
	if config.MinVersion == tls.VersionTLS13 {
		least = configv1.VersionTLS13
	}
	flags := []string{"--tls-min-version=" + string(least)}
	var names []string
	for _, id := range config.CipherSuites {
		names = append(names, tls.CipherSuiteName(id))
	}
	if len(names) > 0 {
		flags = append(flags, "--tls-cipher-suites="+strings.Join(names, ","))
	}
	return flags
}

// Usable reports whether Apply can use the suites: it cannot if the profile allows TLS 1.2 and has no secure suite for it
// that Go supports.
func (s Settings) Usable() bool {
	if s.IsZero() || s.MinVersion == string(configv1.VersionTLS13) {
		return true
	}
	return slices.ContainsFunc(tls.CipherSuites(), func(existing *tls.CipherSuite) bool { return slices.Contains(s.CipherSuites, existing.Name) })
}

// IsZero reports whether servers use their own defaults.
func (s Settings) IsZero() bool { return s.MinVersion == "" }

// Equal reports whether two settings are the same.
func (s Settings) Equal(o Settings) bool {
	return s.MinVersion == o.MinVersion && slices.Equal(s.CipherSuites, o.CipherSuites) && slices.Equal(s.Ciphers, o.Ciphers)
}

// NginxProtocols returns the value of nginx's ssl_protocols: all versions from MinVersion on; "" for the zero value.
func (s Settings) NginxProtocols() string {
	names := []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	if version, ok := versions[s.MinVersion]; ok {
		return strings.Join(names[version-tls.VersionTLS10:], " ")
	}
	return ""
}

// NginxCiphers returns the value of nginx's ssl_ciphers; "" with only TLS 1.3.
func (s Settings) NginxCiphers() string {
	if s.MinVersion == string(configv1.VersionTLS13) {
		return ""
	}
	return strings.Join(s.Ciphers, ":")
}

var versions = map[string]uint16{
	string(configv1.VersionTLS10): tls.VersionTLS10, string(configv1.VersionTLS11): tls.VersionTLS11,
	string(configv1.VersionTLS12): tls.VersionTLS12, string(configv1.VersionTLS13): tls.VersionTLS13,
}

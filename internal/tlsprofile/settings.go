// Package tlsprofile turns the TLS profile that administrators choose for a whole OpenShift cluster into what programs
// are configured with. It reads nothing: the profile comes in as the API has it.
package tlsprofile

import (
	"crypto/tls"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// The values of spec.tlsAdherence of an APIServer. Clusters whose API does not have the field have it empty. What is neither
// is taken for Strict, so that a value of the future is not taken for the lax one.
const (
	// LegacyAdherence leaves components that never followed the profile with their own defaults.
	LegacyAdherence = "LegacyAdheringComponentsOnly"
	// StrictAdherence has all components follow the profile.
	StrictAdherence = "StrictAllComponents"
)

// Settings are what a program that serves TLS is told. The zero value leaves programs with their own defaults.
type Settings struct {
	// MinVersion is the oldest version of the protocol: VersionTLS10 to VersionTLS13. Empty in the zero value only.
	MinVersion string
	// CipherSuites are those of the profile that Go can do, by the names of IANA, in the profile's order, without those of
	// TLS 1.3, which cannot be chosen. It is empty if MinVersion is VersionTLS13, or if there are none.
	CipherSuites []string
	// Ciphers are those of the profile by the names of OpenSSL, in its order. Those of TLS 1.3 have the names of IANA.
	Ciphers []string
}

// Resolve returns the settings for a profile and an adherence. Without a profile, strict adherence takes the
// Intermediate one, as the API server does, and any other leaves programs alone. So does legacy adherence always.
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

// specOf returns what a profile says. One that names no type, or an empty Custom one, is Intermediate.
func specOf(profile *configv1.TLSSecurityProfile) configv1.TLSProfileSpec {
	if profile.Type == configv1.TLSProfileCustomType && profile.Custom != nil {
		return profile.Custom.TLSProfileSpec
	}
	if spec := configv1.TLSProfiles[profile.Type]; spec != nil {
		return *spec
	}
	return *configv1.TLSProfiles[configv1.TLSProfileIntermediateType]
}

// Apply configures a server of this project. It follows the settings as far as they are secure: never below TLS 1.2, and
// never with a suite that Go calls insecure. If no suite is left, Go's own choice stays.
func (s Settings) Apply(config *tls.Config) {
	config.MinVersion = max(versions[s.MinVersion], tls.VersionTLS12)
	config.CipherSuites = nil
	for _, have := range tls.CipherSuites() {
		if slices.Contains(s.CipherSuites, have.Name) {
			config.CipherSuites = append(config.CipherSuites, have.ID)
		}
	}
}

// Flags are the flags --tls-min-version and --tls-cipher-suites of this project's programs that follow the settings as far as Apply does.
// The zero value has none: programs have their own defaults.
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

// Usable reports whether Apply can follow the choice of suites: it cannot if the profile allows TLS 1.2 and names no secure
// suite for it that Go has.
func (s Settings) Usable() bool {
	if s.IsZero() || s.MinVersion == string(configv1.VersionTLS13) {
		return true
	}
	return slices.ContainsFunc(tls.CipherSuites(), func(have *tls.CipherSuite) bool { return slices.Contains(s.CipherSuites, have.Name) })
}

// IsZero reports whether programs are left with their own defaults.
func (s Settings) IsZero() bool { return s.MinVersion == "" }

// Equal reports whether two settings are the same.
func (s Settings) Equal(o Settings) bool {
	return s.MinVersion == o.MinVersion && slices.Equal(s.CipherSuites, o.CipherSuites) && slices.Equal(s.Ciphers, o.Ciphers)
}

// NginxProtocols is the value of nginx's ssl_protocols: all versions from MinVersion on. It is empty in the zero value.
func (s Settings) NginxProtocols() string {
	names := []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	if version, ok := versions[s.MinVersion]; ok {
		return strings.Join(names[version-tls.VersionTLS10:], " ")
	}
	return ""
}

// NginxCiphers is the value of nginx's ssl_ciphers. It is empty with TLS 1.3 alone.
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

package tlsprofile

import (
	"crypto/tls"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

func custom(version configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
	return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
		TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}}}
}

func profile(name configv1.TLSProfileType) *configv1.TLSSecurityProfile {
	return &configv1.TLSSecurityProfile{Type: name}
}

func TestResolve(t *testing.T) {
	intermediate := []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	}
	for _, row := range []struct {
		why       string
		profile   *configv1.TLSSecurityProfile
		adherence string
		version   string
		suites    []string
	}{
		{"no one has chosen: the programs' own defaults", nil, "", "", nil},
		{"chosen, and only those that always followed shall", profile(configv1.TLSProfileModernType), LegacyAdherence, "", nil},
		{"all shall follow, and there is no choice", nil, StrictAdherence, "VersionTLS12", intermediate},
		{"chosen in a cluster whose API has no adherence", profile(configv1.TLSProfileIntermediateType), "", "VersionTLS12", intermediate},
		{"a choice without a type", profile(""), "", "VersionTLS12", intermediate},
		{"TLS 1.3 has no suites to choose from", profile(configv1.TLSProfileModernType), StrictAdherence, "VersionTLS13", nil},
		{"an adherence of the future is strict", nil, "StricterThanStrict", "VersionTLS12", intermediate},
		{"custom, with what Go has not and what is written twice", custom(configv1.VersionTLS11,
			"DHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "TLS_AES_128_GCM_SHA256", "AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
			StrictAdherence, "VersionTLS11", []string{"TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"}},
		{"custom without its settings", &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}, "", "VersionTLS12", intermediate},
		{"a version that no one knows", custom("VersionTLS99", "AES128-SHA"), "", "VersionTLS12", []string{"TLS_RSA_WITH_AES_128_CBC_SHA"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			got := Resolve(row.profile, row.adherence)
			if got.MinVersion != row.version {
				t.Errorf("got %s, want %s", got.MinVersion, row.version)
			}
			if diff := cmp.Diff(row.suites, got.CipherSuites); diff != "" {
				t.Errorf("suites (-want +got):\n%s", diff)
			}
			if !got.Equal(Resolve(row.profile, row.adherence)) {
				t.Error("the same profile gives other settings")
			}
		})
	}
}

func TestEveryOpenSSLSuiteExistsInGo(t *testing.T) {
	var known []string
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known = append(known, s.Name)
	}
	for openssl, iana := range suites {
		if !slices.Contains(known, iana) {
			t.Errorf("%s is %s, which Go does not have", openssl, iana)
		}
	}
}

func TestNginxSettings(t *testing.T) {
	for _, row := range []struct {
		settings           Settings
		protocols, ciphers string
	}{
		{Settings{}, "", ""},
		{Resolve(custom(configv1.VersionTLS10, "AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"), ""), "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3", "AES128-SHA:DHE-RSA-AES128-GCM-SHA256"},
		{Resolve(custom(configv1.VersionTLS12, "AES128-SHA"), ""), "TLSv1.2 TLSv1.3", "AES128-SHA"},
		{Resolve(profile(configv1.TLSProfileModernType), ""), "TLSv1.3", ""},
	} {
		if p, c := row.settings.NginxProtocols(), row.settings.NginxCiphers(); p != row.protocols || c != row.ciphers {
			t.Errorf("%+v: got %q and %q, want %q and %q", row.settings, p, c, row.protocols, row.ciphers)
		}
	}
}

// TestServersFollowTheProfile shakes hands with a server for each profile.
func TestServersFollowTheProfile(t *testing.T) {
	const plain, sealed = tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
	for _, row := range []struct {
		why      string
		settings Settings
		version  uint16
		suite    uint16
		ok       bool
	}{
		{"default takes TLS 1.2", Settings{}, tls.VersionTLS12, sealed, true},
		{"default refuses TLS 1.1", Settings{}, tls.VersionTLS11, plain, false},
		{"modern refuses TLS 1.2", Resolve(profile(configv1.TLSProfileModernType), ""), tls.VersionTLS12, sealed, false},
		{"modern takes TLS 1.3", Resolve(profile(configv1.TLSProfileModernType), ""), tls.VersionTLS13, 0, true},
		{"old still refuses TLS 1.0: a server of metrics needs no clients of that age", Resolve(profile(configv1.TLSProfileOldType), ""), tls.VersionTLS10, plain, false},
		{"custom takes its suite", Resolve(custom(configv1.VersionTLS12, "ECDHE-ECDSA-AES256-GCM-SHA384"), ""), tls.VersionTLS12, sealed, true},
		{"custom refuses another one", Resolve(custom(configv1.VersionTLS12, "ECDHE-ECDSA-AES128-GCM-SHA256"), ""), tls.VersionTLS12, sealed, false},
		{"custom without a suite that Go has: Go's own", Resolve(custom(configv1.VersionTLS12, "DHE-RSA-AES256-GCM-SHA384"), ""), tls.VersionTLS12, sealed, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			server := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
			row.settings.Apply(server)
			client := &tls.Config{InsecureSkipVerify: true, MinVersion: row.version, MaxVersion: row.version}
			if row.suite != 0 {
				client.CipherSuites = []uint16{row.suite}
			}
			if err := shake(server, client); (err == nil) != row.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUsable(t *testing.T) {
	for _, row := range []struct {
		why  string
		s    Settings
		want bool
	}{
		{"defaults", Settings{}, true},
		{"TLS 1.3", Resolve(profile(configv1.TLSProfileModernType), ""), true},
		{"the old profile has secure ones, too", Resolve(profile(configv1.TLSProfileOldType), ""), true},
		{"only what Go calls insecure", Resolve(custom(configv1.VersionTLS12, "DES-CBC3-SHA"), ""), false},
		{"nothing that Go has", Resolve(custom(configv1.VersionTLS12, "DHE-RSA-AES256-GCM-SHA384"), ""), false},
	} {
		if got := row.s.Usable(); got != row.want {
			t.Errorf("%s: got %t", row.why, got)
		}
	}
}

func shake(server, client *tls.Config) error {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() { _ = tls.Server(a, server).Handshake() }()
	return tls.Client(b, client).Handshake()
}

func FuzzResolve(f *testing.F) {
	f.Add("VersionTLS12", "AES128-SHA", "StrictAllComponents")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, version, cipher, adherence string) {
		s := Resolve(custom(configv1.TLSProtocolVersion(version), cipher), adherence)
		var config tls.Config
		s.Apply(&config)
		if config.MinVersion < tls.VersionTLS12 || len(config.CipherSuites) > 1 || s.IsZero() != (adherence == LegacyAdherence) {
			t.Errorf("%+v gives version %x and suites %x", s, config.MinVersion, config.CipherSuites)
		}
		s.NginxProtocols()
		s.NginxCiphers()
	})
}

// certificate is a server's; its key is one for ECDSA.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	authority, err := certs.NewCA("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(certs.Request{CommonName: "server", Usage: certs.Server, Life: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestFlagsOfPrograms(t *testing.T) {
	for _, row := range []struct {
		why      string
		settings Settings
		want     []string
	}{
		{"programs have their own defaults", Settings{}, nil},
		{"TLS 1.3 has no suites to choose from", Resolve(profile(configv1.TLSProfileModernType), ""), []string{"--tls-min-version=VersionTLS13"}},
		{"nothing before TLS 1.2, and no insecure suite", Resolve(custom(configv1.VersionTLS10, "ECDHE-ECDSA-AES128-GCM-SHA256", "DES-CBC3-SHA"), ""),
			[]string{"--tls-min-version=VersionTLS12", "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}},
		{"no suite is secure: the programs' own choice", Resolve(custom(configv1.VersionTLS12, "DES-CBC3-SHA"), ""), []string{"--tls-min-version=VersionTLS12"}},
	} {
		if diff := cmp.Diff(row.want, row.settings.Flags()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

package proxyconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/cabundle"
	"github.com/cluster-network-operator/cno/internal/noproxy"
)

func certificates(t *testing.T, pem string) []cabundle.Certificate {
	t.Helper()
	list, err := cabundle.Parse([]byte(pem))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReasonsAreThoseThatPeopleKnow(t *testing.T) {
	good := authority(t, "good", now.AddDate(1, 0, 0))
	system := systemTrust{path: "/s", list: certificates(t, good)}
	set := configv1.ProxySpec{HTTPProxy: "http://p"}
	infra := &configv1.Infrastructure{Status: configv1.InfrastructureStatus{APIServerInternalURL: "https://a:6443"}}
	network := &configv1.Network{Status: configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}}
	broken := &corev1.ConfigMap{Data: map[string]string{installKey: "networking: []"}}
	misnamed := &corev1.ConfigMap{Data: map[string]string{"config": "networking: {}"}}
	for _, row := range []struct {
		why, reason string
		world       world
		writes      bool
	}{
		{"all is well", "", world{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, system: system}, true},
		{"no proxy, and nothing else either", "", world{proxy: &configv1.Proxy{}, system: system}, true},
		{"no proxy, and an install-config that is none", "", world{proxy: &configv1.Proxy{}, system: system, install: broken}, true},
		{"no network", reasonNetwork, world{proxy: &configv1.Proxy{Spec: set}, infra: infra, system: system}, false},
		{"no infrastructure", reasonInfra, world{proxy: &configv1.Proxy{Spec: set}, network: network, system: system}, false},
		{"an install-config that is none", reasonCluster, world{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: broken, system: system}, false},
		{"an install-config without data", reasonCluster, world{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: &corev1.ConfigMap{}, system: system}, false},
		{"an install-config under another key", reasonCluster, world{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: misnamed, system: system}, false},
		{"a list alone", reasonInvalid, world{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{NoProxy: ".a"}}, infra: infra, network: network, system: system}, false},
		{"no trust of the system's", reasonGenerate, world{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, system: systemTrust{problem: "x"}}, true},
		{"authorities that are not there", reasonInvalid, world{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "x"}}}, system: system}, false},
		{"the bundle itself, which is not there yet", "", world{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: BundleName}}}, system: system}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.world.now = now
			d := conclude(&row.world, judge(&row.world), nil, true)
			if (d.status != nil) != row.writes {
				t.Errorf("status %v", d.status)
			}
			if row.reason == "" && len(d.findings) > 0 || row.reason != "" && (len(d.findings) != 1 || d.findings[0].Reason != row.reason) {
				t.Errorf("findings %v", d.findings)
			}
		})
	}
}

// TestWhatIsWrittenWrongCountsAtOnceAndAConfigMapThatIsMissingIfItLasts: anyone who makes a Proxy may make its ConfigMap next.
func TestWhatIsWrittenWrongCountsAtOnceAndAConfigMapThatIsMissingIfItLasts(t *testing.T) {
	spec := configv1.ProxySpec{HTTPProxy: "ftp://p", TrustedCA: configv1.ConfigMapNameReference{Name: "x"}}
	w := world{proxy: &configv1.Proxy{Spec: spec}, system: systemTrust{path: "/s", list: certificates(t, authority(t, "good", now.AddDate(1, 0, 0)))}, now: now}
	found, notes := mistakes(judge(&w), []answer{{problem: "no answer"}})
	if len(found) != 2 || len(notes) != 3 {
		t.Fatalf("findings %v, events %v", found, notes)
	}
	for i, want := range []struct {
		immediate bool
		subject   string
		word      string
	}{{true, "", "spec.httpProxy"}, {false, "trustedCA", "ConfigMap openshift-config/x not found"}} {
		if f := found[i]; f.Reason != reasonInvalid || f.Immediate != want.immediate || f.Subject != want.subject || !strings.Contains(f.Message, want.word) {
			t.Errorf("finding %d is %+v", i, f)
		}
	}
}

func TestBundleIsMadeAnewWhenACertificateExpires(t *testing.T) {
	soon := now.Add(3 * time.Minute).Truncate(time.Second)
	w := &world{now: now, proxy: &configv1.Proxy{}, system: systemTrust{path: "/s", list: certificates(t, authority(t, "soon", soon)+authority(t, "late", now.AddDate(1, 0, 0)))}}
	first := conclude(w, judge(w), nil, true)
	if first.again < 2*time.Minute || first.again > 4*time.Minute {
		t.Errorf("it is looked at again after %v", first.again)
	}
	w.now = now.Add(first.again)
	if second := conclude(w, judge(w), nil, true); *second.bundle == *first.bundle || second.again != systemInterval {
		t.Errorf("the bundle is the same, and is looked at again after %v", second.again)
	}
}

func TestWhileProbesRunNothingIsPutIntoForce(t *testing.T) {
	w := &world{now: now, proxy: &configv1.Proxy{Spec: configv1.ProxySpec{HTTPProxy: "http://p", HTTPSProxy: "http://q", ReadinessEndpoints: []string{"http://a", "https://b"}}},
		infra:   &configv1.Infrastructure{Status: configv1.InfrastructureStatus{APIServerInternalURL: "https://a:6443"}},
		network: &configv1.Network{Status: configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}},
		system:  systemTrust{path: "/s", list: certificates(t, authority(t, "s", now.AddDate(1, 0, 0)))}}
	v := judge(w)
	if got := v.round.endpoints; got[0].proxy != "http://p" || got[1].proxy != "http://q" {
		t.Errorf("endpoints %v", got)
	}
	if d := conclude(w, v, nil, false); d.status != nil || len(d.findings) > 0 {
		t.Errorf("while probes run: %v, %v", d.status, d.findings)
	}
	if d := conclude(w, v, []answer{{at: "x", problem: "y"}, {at: "z"}}, true); d.status != nil || len(d.findings) != 1 || d.again != probeInterval {
		t.Errorf("when one has failed: %v, %v, %v", d.status, d.findings, d.again)
	}
	if d := conclude(w, v, []answer{{at: "x"}, {at: "z"}}, true); d.status == nil || d.status.NoProxy == "" {
		t.Errorf("when all have passed: %v", d.status)
	}
}

func TestFirstFileWithCertificatesCounts(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, other := authority(t, "good", now.AddDate(1, 0, 0)), authority(t, "other", now.AddDate(1, 0, 0))
	missing, empty := filepath.Join(dir, "missing"), file("empty", "")
	mixed := file("mixed", "-----BEGIN TRUSTED CERTIFICATE-----\nAAAA\n-----END TRUSTED CERTIFICATE-----\n"+good)
	if got := readSystemTrust([]string{missing, empty, dir, mixed, file("other", other)}); got.path != mixed || len(got.list) != 1 || got.problem != "" {
		t.Errorf("got %d of %q: %s", len(got.list), got.path, got.problem)
	}
	if got := readSystemTrust([]string{missing, empty, dir}); got.path != "" || !strings.Contains(got.problem, empty+": is empty") || !strings.Contains(got.problem, dir) {
		t.Errorf("got %q: %s", got.path, got.problem)
	}
	if got := readSystemTrust([]string{missing}); got.problem != "there is none of "+missing {
		t.Errorf("got %s", got.problem)
	}
	if paths := SystemTrustFiles(); paths[0] != "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" || len(paths) < 4 {
		t.Errorf("paths %v", paths)
	}
}

func TestLongListsOfMistakesAreCutInConditionsOnly(t *testing.T) {
	spec := configv1.ProxySpec{HTTPProxy: "http://p", NoProxy: strings.Repeat("ü_,", 300)}
	w := &world{now: now, proxy: &configv1.Proxy{Spec: spec}, system: systemTrust{path: "/s"}}
	v := judge(w)
	findings, notes := explain(w, v, nil)
	if n := len(noproxy.Validate(&spec)); len(notes) < n || n != 300 {
		t.Errorf("%d mistakes, %d notes", n, len(notes))
	}
	if m := findings[0].Message; len(m) > longestMessage+200 || !strings.Contains(m, "(300 problems)") || !strings.HasSuffix(m, kept) {
		t.Errorf("%d bytes: %s", len(m), m[max(0, len(m)-200):])
	}
}

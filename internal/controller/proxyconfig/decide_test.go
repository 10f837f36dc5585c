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

func TestReasonsMatchOpenShift(t *testing.T) {
	good := newCA(t, "good", now.AddDate(1, 0, 0))
	system := systemTrust{path: "/s", list: certificates(t, good)}
	set := configv1.ProxySpec{HTTPProxy: "http://p"}
	infra := &configv1.Infrastructure{Status: configv1.InfrastructureStatus{APIServerInternalURL: "https://a:6443"}}
	network := &configv1.Network{Status: configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}}
	broken := &corev1.ConfigMap{Data: map[string]string{installKey: "networking: []"}}
	misnamed := &corev1.ConfigMap{Data: map[string]string{"config": "networking: {}"}}
	for _, row := range []struct {
		why, reason string
		input       input
		writes      bool
	}{
		{"as expected", "", input{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, system: system}, true},
		{"no proxy, and nothing else either", "", input{proxy: &configv1.Proxy{}, system: system}, true},
		{"no proxy, and an install-config that is none", "", input{proxy: &configv1.Proxy{}, system: system, install: broken}, true},
		{"no network", reasonNetwork, input{proxy: &configv1.Proxy{Spec: set}, infra: infra, system: system}, false},
		{"no infrastructure", reasonInfra, input{proxy: &configv1.Proxy{Spec: set}, network: network, system: system}, false},
		{"an install-config that is none", reasonCluster, input{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: broken, system: system}, false},
		{"an install-config without data", reasonCluster, input{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: &corev1.ConfigMap{}, system: system}, false},
		{"an install-config under another key", reasonCluster, input{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, install: misnamed, system: system}, false},
		{"a list alone", reasonInvalid, input{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{NoProxy: ".a"}}, infra: infra, network: network, system: system}, false},
		{"no trust of the system's", reasonGenerate, input{proxy: &configv1.Proxy{Spec: set}, infra: infra, network: network, system: systemTrust{problem: "x"}}, true},
		{"a missing trusted CA", reasonInvalid, input{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "x"}}}, system: system}, false},
		{"the bundle itself, which does not exist yet", "", input{proxy: &configv1.Proxy{Spec: configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: BundleName}}}, system: system}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.input.now = now
			d := decide(&row.input, assess(&row.input), nil, true)
			if (d.status != nil) != row.writes {
				t.Errorf("status %v", d.status)
			}
			if row.reason == "" && len(d.findings) > 0 || row.reason != "" && (len(d.findings) != 1 || d.findings[0].Reason != row.reason) {
				t.Errorf("findings %v", d.findings)
			}
		})
	}
}

// TestInvalidFieldsCountImmediatelyAndAMissingConfigMapAfterADelay: the ConfigMap of a Proxy may be created after it.
func TestInvalidFieldsCountImmediatelyAndAMissingConfigMapAfterADelay(t *testing.T) {
	spec := configv1.ProxySpec{HTTPProxy: "ftp://p", TrustedCA: configv1.ConfigMapNameReference{Name: "x"}}
	w := input{proxy: &configv1.Proxy{Spec: spec}, system: systemTrust{path: "/s", list: certificates(t, newCA(t, "good", now.AddDate(1, 0, 0)))}, now: now}
	found, notes := specProblems(assess(&w), []probeResult{{problem: "no answer"}})
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

func TestBundleIsUpdatedWhenACertificateExpires(t *testing.T) {
	soon := now.Add(3 * time.Minute).Truncate(time.Second)
	w := &input{now: now, proxy: &configv1.Proxy{}, system: systemTrust{path: "/s", list: certificates(t, newCA(t, "soon", soon)+newCA(t, "late", now.AddDate(1, 0, 0)))}}
	first := decide(w, assess(w), nil, true)
	if first.requeueAfter < 2*time.Minute || first.requeueAfter > 4*time.Minute {
		t.Errorf("it is requeued after %v", first.requeueAfter)
	}
	w.now = now.Add(first.requeueAfter)
	if second := decide(w, assess(w), nil, true); *second.bundle == *first.bundle || second.requeueAfter != systemInterval {
		t.Errorf("the bundle is the same, and is requeued after %v", second.requeueAfter)
	}
}

func TestNothingIsAppliedWhileProbesRun(t *testing.T) {
	w := &input{now: now, proxy: &configv1.Proxy{Spec: configv1.ProxySpec{HTTPProxy: "http://p", HTTPSProxy: "http://q", ReadinessEndpoints: []string{"http://a", "https://b"}}},
		infra:   &configv1.Infrastructure{Status: configv1.InfrastructureStatus{APIServerInternalURL: "https://a:6443"}},
		network: &configv1.Network{Status: configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}},
		system:  systemTrust{path: "/s", list: certificates(t, newCA(t, "s", now.AddDate(1, 0, 0)))}}
	v := assess(w)
	if got := v.probeRound.endpoints; got[0].proxy != "http://p" || got[1].proxy != "http://q" {
		t.Errorf("endpoints %v", got)
	}
	if d := decide(w, v, nil, false); d.status != nil || len(d.findings) > 0 {
		t.Errorf("while probes run: %v, %v", d.status, d.findings)
	}
	if d := decide(w, v, []probeResult{{at: "x", problem: "y"}, {at: "z"}}, true); d.status != nil || len(d.findings) != 1 || d.requeueAfter != probeInterval {
		t.Errorf("when one has failed: %v, %v, %v", d.status, d.findings, d.requeueAfter)
	}
	if d := decide(w, v, []probeResult{{at: "x"}, {at: "z"}}, true); d.status == nil || d.status.NoProxy == "" {
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
	good, other := newCA(t, "good", now.AddDate(1, 0, 0)), newCA(t, "other", now.AddDate(1, 0, 0))
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

func TestLongErrorListsAreTruncatedInConditionsOnly(t *testing.T) {
	spec := configv1.ProxySpec{HTTPProxy: "http://p", NoProxy: strings.Repeat("ü_,", 300)}
	w := &input{now: now, proxy: &configv1.Proxy{Spec: spec}, system: systemTrust{path: "/s"}}
	v := assess(w)
	findings, notes := explain(w, v, nil)
	if n := len(noproxy.Validate(&spec)); len(notes) < n || n != 300 {
		t.Errorf("%d mistakes, %d notes", n, len(notes))
	}
	if m := findings[0].Message; len(m) > maxMessage+200 || !strings.Contains(m, "(300 problems)") || !strings.HasSuffix(m, keptSuffix) {
		t.Errorf("%d bytes: %s", len(m), m[max(0, len(m)-200):])
	}
}

package proxyconfig

import (
	"net/http"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// merged is NO_PROXY in these tests, with nothing of a user's.
const merged = ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.example.com,localhost"

func TestWithoutAProxyNothingElseIsNeeded(t *testing.T) {
	c := newCluster(t)
	c.proxy(configv1.ProxySpec{})
	c.awaitBundle(c.system)
	c.awaitQuiet()
	if got := c.get().Status; got != (configv1.ProxyStatus{}) {
		t.Errorf("status is %+v", got)
	}
}

func TestProxyIsAppliedAndFollowsTheCluster(t *testing.T) {
	c := newCluster(t)
	c.infrastructure()
	c.proxy(configv1.ProxySpec{HTTPProxy: "http://proxy:3128", HTTPSProxy: "https://proxy:3129", NoProxy: " .example.com,, localhost"})
	c.awaitFinding("NetworkConfigError", "networks.config.openshift.io/cluster, which has the networks of pods and Services, does not exist", "Proxy kept at previous setting")
	network := c.network("10.128.0.0/14")
	want := configv1.ProxyStatus{HTTPProxy: "http://proxy:3128", HTTPSProxy: "https://proxy:3129",
		NoProxy: ".cluster.local,.example.com,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.example.com,localhost"}
	c.awaitStatus(want)
	c.awaitQuiet()
	c.awaitEvent("Normal ProxyConfigured: the cluster uses the proxy of this specification")

	apitest.Change(t, c.Client, network, func() { network.Status.ClusterNetwork[0].CIDR = "10.132.0.0/14" })
	want.NoProxy = strings.Replace(want.NoProxy, "10.128", "10.132", 1)
	c.awaitStatus(want)

	c.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: installNamespace, Name: installName},
		Data: map[string]string{installKey: "networking:\n  machineNetwork:\n  - cidr: 192.168.0.0/24\n  - cidr: ::/0\n"}})
	want.NoProxy = strings.Replace(want.NoProxy, "api-int", "192.168.0.0/24,api-int", 1)
	c.awaitStatus(want)

	c.edit(func(s *configv1.ProxySpec) { *s = configv1.ProxySpec{} })
	c.awaitStatus(configv1.ProxyStatus{})
	c.awaitEvent("the cluster uses no proxy")
}

func TestRefusedProxyKeepsThePreviousOneAndReportsEachField(t *testing.T) {
	c := newCluster(t)
	c.infrastructure()
	c.network("10.128.0.0/14")
	c.proxy(configv1.ProxySpec{HTTPProxy: "http://user:hunter2@proxy:3128"})
	want := configv1.ProxyStatus{HTTPProxy: "http://user:hunter2@proxy:3128", NoProxy: merged}
	c.awaitStatus(want)

	c.edit(func(s *configv1.ProxySpec) {
		s.HTTPProxy, s.HTTPSProxy, s.NoProxy = "htp://user:hunter2@bad:99999", "http://a:hunter2@b@c", "*.example.com"
		s.TrustedCA.Name = "nope"
	})
	c.awaitFinding("InvalidProxyConfig", `scheme "htp" not allowed`, "invalid port number", "percent-encode as %40", `use ".example.com" for all subdomains`,
		"Proxy kept at previous setting")
	c.awaitFinding("InvalidProxyConfig", "ConfigMap openshift-config/nope not found; create it with key ca-bundle.crt", "Proxy kept at previous setting")
	for _, words := range []string{
		`Warning InvalidProxyConfig: spec.httpProxy: Invalid value: "htp://user:xxxxx@bad:99999": scheme "htp" not allowed (http); did you mean http?`,
		`Warning InvalidProxyConfig: spec.httpProxy: Invalid value: "htp://user:xxxxx@bad:99999": invalid port number: "99999"`,
		"Warning InvalidProxyConfig: spec.httpsProxy", "Warning InvalidProxyConfig: spec.noProxy[0]", "Warning InvalidProxyConfig: spec.trustedCA.name",
	} {
		c.awaitEvent(words)
	}
	if c.get().Status != want {
		t.Errorf("status is %+v", c.get().Status)
	}
	c.awaitBundle(c.system)

	c.edit(func(s *configv1.ProxySpec) {
		s.HTTPProxy, s.HTTPSProxy, s.NoProxy, s.TrustedCA.Name = "http://user:hunter2@other:3128", "", "", ""
	})
	want.HTTPProxy = "http://user:hunter2@other:3128"
	c.awaitStatus(want)
	c.awaitQuiet()
	findings, _, _ := c.board.Snapshot()
	for _, text := range append(c.events(), c.log.String()) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the password is printed: %s", text)
		}
	}
	if len(findings) > 0 {
		t.Errorf("findings: %v", findings)
	}
}

func TestTrustedCertificatesAreMergedWithTheSystems(t *testing.T) {
	c := newCluster(t)
	user, old := newCA(t, "user", now.AddDate(1, 0, 0)), newCA(t, "old", now.AddDate(-1, 0, 0))
	cm := c.userCA("user-ca", "# ours\n"+strings.ReplaceAll(user, "\n", "\r\n")+old+user+c.system)
	c.proxy(configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "user-ca"}})
	c.awaitBundle(user + c.system)
	c.awaitEvent("Warning TrustedCARemark: ConfigMap openshift-config/user-ca: certificate 2 of 4 (CN=old, line ")
	c.awaitQuiet()

	for why, content := range map[string]string{
		"is a private key, where only certificates belong: take it out": user + "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
		"every certificate has expired":                                 old,
		"is empty":                                                      "",
	} {
		c.change(cm, content)
		c.awaitFinding("InvalidProxyConfig", "ConfigMap openshift-config/user-ca, key ca-bundle.crt", why)
		if got, _ := c.bundle(); got != user+c.system {
			t.Errorf("%s: the bundle has changed", why)
		}
	}
	next := newCA(t, "next", now.AddDate(1, 0, 0))
	c.change(cm, next)
	c.awaitBundle(next + c.system)
	c.awaitQuiet()
	if err := c.Client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	c.awaitFinding("InvalidProxyConfig", "ConfigMap openshift-config/user-ca not found")
	c.edit(func(s *configv1.ProxySpec) { s.TrustedCA.Name = "" })
	c.awaitBundle(c.system)
	c.awaitQuiet()
}

func TestMissingOrDEREncodedKeyIsExplained(t *testing.T) {
	c := newCluster(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: UserNamespace, Name: "odd"}, Data: map[string]string{"ca.crt": "x"}}
	c.Create(t, cm)
	c.proxy(configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "odd"}})
	c.awaitFinding("InvalidProxyConfig", "ConfigMap openshift-config/odd has no key ca-bundle.crt; it has ca.crt")
	// There was nothing to keep.
	c.awaitBundle(c.system)
	apitest.Change(t, c.Client, cm, func() { cm.BinaryData = map[string][]byte{"ca-bundle.crt": {0x30, 0x82, 1, 2, 3, 4, 0xff}} })
	c.awaitFinding("InvalidProxyConfig", "is in DER form; convert it: openssl x509 -inform der")
}

func TestBundleThatDoesNotFitIsRefusedWithTheReason(t *testing.T) {
	c := newCluster(t)
	c.proxy(configv1.ProxySpec{})
	c.awaitBundle(c.system)
	var large strings.Builder
	for large.Len() < 1<<20-300_000 {
		large.WriteString(newCA(t, "large", now.AddDate(1, 0, 0), make([]byte, 30_000)...))
	}
	var system strings.Builder
	for system.Len() < 350_000 {
		system.WriteString(newCA(t, "system", now.AddDate(1, 0, 0), make([]byte, 30_000)...))
	}
	c.writeSystem(system.String())
	c.userCA("large", large.String())
	c.awaitBundle(system.String())
	c.edit(func(s *configv1.ProxySpec) { s.TrustedCA.Name = "large" })
	c.awaitFinding("ProxyCAMergeFailure", "and a ConfigMap holds 1048576", "certificates of ConfigMap openshift-config/large")
	if got, _ := c.bundle(); got != system.String() {
		t.Error("the bundle has changed")
	}
}

func TestEditedBundleIsRepairedAndOtherKeysAreKept(t *testing.T) {
	c := newCluster(t)
	c.proxy(configv1.ProxySpec{})
	c.awaitBundle(c.system)
	var cm corev1.ConfigMap
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: BundleNamespace, Name: BundleName}, &cm); err != nil {
		t.Fatal(err)
	}
	apitest.Change(t, c.Client, &cm, func() { cm.Data = map[string]string{"ca-bundle.crt": "nothing", "other": "mine"} })
	c.awaitBundle(c.system)
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: BundleNamespace, Name: BundleName}, &cm); err != nil || cm.Data["other"] != "mine" {
		t.Errorf("%v, %v", cm.Data, err)
	}
}

func TestSystemWithoutTrustIsReportedAndTheUsersIsUsed(t *testing.T) {
	c := newCluster(t)
	c.writeSystem("")
	user := newCA(t, "user", now.AddDate(1, 0, 0))
	c.userCA("alone", user)
	c.proxy(configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "alone"}})
	c.awaitFinding("GenerateConfigMapFailure", c.systemFile, "is empty", "mount a bundle into the operator's pod")
	c.awaitBundle(user)
}

func TestUnreachableEndpointKeepsTheProxyAndBlocksNothing(t *testing.T) {
	c := newCluster(t)
	c.infrastructure()
	c.network("10.128.0.0/14")
	hole, endpoint, proxy := blackHole(t), site(t, http.StatusOK, true), newForwarder(t, "", false)
	cm := c.userCA("endpoint", rootsOfServer(endpoint))
	c.proxy(configv1.ProxySpec{HTTPProxy: hole, ReadinessEndpoints: []string{endpoint.URL}, TrustedCA: configv1.ConfigMapNameReference{Name: "endpoint"}})
	// The bundle does not wait for the probes, which take three seconds.
	begin := time.Now()
	c.awaitBundle(rootsOfServer(endpoint) + c.system)
	t.Logf("the bundle existed after %v", time.Since(begin))
	c.awaitFinding("InvalidProxyConfig", "spec.readinessEndpoints[0]: probe of "+endpoint.URL+" via "+hole+" failed: no answer within 1 s (3 tries)", "Proxy kept at previous setting")
	if got := c.get().Status; got != (configv1.ProxyStatus{}) {
		t.Errorf("status is %+v", got)
	}
	// Another specification does not wait for the probes of this one.
	c.edit(func(s *configv1.ProxySpec) { s.HTTPProxy = proxy.URL })
	c.awaitStatus(configv1.ProxyStatus{HTTPProxy: proxy.URL, NoProxy: merged})
	c.awaitQuiet()
	// A change of the CAs starts a new round, too.
	c.change(cm, newCA(t, "another", now.AddDate(1, 0, 0)))
	c.awaitFinding("InvalidProxyConfig", "add that CA to the ConfigMap that spec.trustedCA names")
	if got := c.get().Status.HTTPProxy; got != proxy.URL {
		t.Errorf("the proxy was removed: %q", got)
	}
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	c := newCluster(t)
	c.infrastructure()
	network := c.network("10.128.0.0/14")
	c.proxy(configv1.ProxySpec{HTTPProxy: "http://proxy:3128"})
	c.awaitStatus(configv1.ProxyStatus{HTTPProxy: "http://proxy:3128", NoProxy: merged})
	c.awaitBundle(c.system)
	c.awaitEvent("ProxyConfigured")
	writes := func() (n int) {
		for _, r := range c.Requests(t) {
			if r.Writes() && strings.HasPrefix(r.UserAgent, c.agent()) {
				n++
			}
		}
		return n
	}
	before := writes()
	for i := range 10 {
		apitest.Change(t, c.Client, network, func() { network.Annotations = map[string]string{"touched": strings.Repeat("x", i)} })
		time.Sleep(20 * time.Millisecond)
	}
	if after := writes(); after != before {
		t.Errorf("%d writes in reconciles without changes", after-before)
	}
}

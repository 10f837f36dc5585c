package serviceproxy

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/proxysettings"
)

// complaints are the errors as "field: rule: detail", without the path that all have.
func complaints(spec *operatorv1.NetworkSpec, t provider.Traits) []string {
	var got []string
	for _, e := range Validate(spec, t) {
		got = append(got, strings.TrimPrefix(e.Field, "spec.kubeProxyConfig.")+": "+e.Origin+": "+e.Detail)
	}
	return got
}

func TestEachErrorIsNamedWithItsWayOut(t *testing.T) {
	for _, tc := range []struct {
		why      string
		settings osv1.ProxyConfig
		want     []string
	}{
		{why: "nothing is required"},
		{"a number without a unit is the most common mistake", osv1.ProxyConfig{IptablesSyncPeriod: "30"},
			[]string{"iptablesSyncPeriod: kube-proxy-sync-period: has no unit; write 30s"}},
		{"no duration at all", osv1.ProxyConfig{IptablesSyncPeriod: "soon"},
			[]string{"iptablesSyncPeriod: kube-proxy-sync-period: is not a duration; write a number and a unit, e.g. 30s or 2m"}},
		{"kube-proxy does not start with a period of nothing", osv1.ProxyConfig{IptablesSyncPeriod: "0s"},
			[]string{"iptablesSyncPeriod: kube-proxy-sync-period: must be greater than 0s"}},
		{"a CIDR is no address", osv1.ProxyConfig{BindAddress: "10.0.0.0/8"},
			[]string{"bindAddress: kube-proxy-bind-address: is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::"}},
		{"kube-proxy does not understand zones", osv1.ProxyConfig{BindAddress: "fe80::1%eth0"},
			[]string{"bindAddress: kube-proxy-bind-address: is not the canonical form of an IP address; write it as fe80::1"}},
		{"kube-proxy takes its family for that of the cluster", osv1.ProxyConfig{BindAddress: "::1"}, []string{"bindAddress: kube-proxy-bind-address: is an IPv6 address, " +
			"and spec.clusterNetwork has no IPv6 network, so that kube-proxy would serve no Service; write an address of the other family, or leave it out for all addresses"}},
		{"the same by the argument", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("bind-address=fd00::1")}, []string{"proxyArguments[bind-address]: kube-proxy-bind-address: " +
			"is an IPv6 address, and spec.clusterNetwork has no IPv6 network, so that kube-proxy would serve no Service; write an address of the other family, or leave it out for all addresses"}},
		{"all addresses are of both families", osv1.ProxyConfig{BindAddress: "::"}, nil},
		{"an address of the pools' family", osv1.ProxyConfig{BindAddress: "127.0.0.1"}, nil},
		{"the beginning of a flag", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("iptables-minsync=30s")},
			[]string{"proxyArguments[iptables-minsync]: kube-proxy-unknown-flag: unknown kube-proxy 1.36 flag; did you mean iptables-min-sync-period?"}},
		{"a typing error", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mod=ipvs")},
			[]string{"proxyArguments[proxy-mod]: kube-proxy-unknown-flag: unknown kube-proxy 1.36 flag; did you mean proxy-mode?"}},
		{"the dashes of the command line do not belong to the name", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("--proxy_mode=ipvs")},
			[]string{"proxyArguments[--proxy_mode]: kube-proxy-unknown-flag: unknown kube-proxy 1.36 flag; did you mean proxy-mode?"}},
		{"nothing like it", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("turbo=true")},
			[]string{"proxyArguments[turbo]: kube-proxy-unknown-flag: unknown kube-proxy 1.36 flag; remove it"}},
		{"the operator's own flags, and a removed one", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("metrics-port=1", "healthz-port=2", "feature-gates=A=true", "udp-timeout=1s")},
			[]string{
				"proxyArguments[feature-gates]: kube-proxy-override: kube-proxy --feature-gates cannot be overridden",
				"proxyArguments[healthz-port]: kube-proxy-override: kube-proxy --healthz-port cannot be overridden",
				"proxyArguments[metrics-port]: kube-proxy-override: kube-proxy --metrics-port cannot be overridden",
				"proxyArguments[udp-timeout]: kube-proxy-override: kube-proxy 1.36 does not have --udp-timeout any more; remove it",
			}},
		{"what objects of old clusters carry", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("metrics-port=9101", "healthz-port=10256")}, nil},
		{"a value is missing, or there is one too many", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("profiling", "proxy-mode=ipvs", "proxy-mode=iptables")},
			[]string{
				"proxyArguments[profiling]: kube-proxy-value-count: has no value; write one, or remove the argument",
				"proxyArguments[proxy-mode]: kube-proxy-value-count: are too many values; the flag takes one",
			}},
		{"values of every type", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=userspace", "masquerade-all=maybe", "oom-score-adj=-1001",
			"conntrack-min=-1", "ipvs-udp-timeout=-1s", "kube-api-qps=many", "cluster-cidr=10.0.0.1/8", "detect-local-mode=nodecidr",
			"nodeport-addresses=eth0", "vmodule=proxier", "pod-bridge-interface=a/b")},
			[]string{
				"proxyArguments[cluster-cidr][0]: kube-proxy-value: has host bits set; did you mean 10.0.0.0/8?",
				"proxyArguments[conntrack-min][0]: kube-proxy-value: is not a whole number of at least 0",
				"proxyArguments[detect-local-mode][0]: kube-proxy-value: must be written as NodeCIDR",
				"proxyArguments[ipvs-udp-timeout][0]: kube-proxy-value: is negative; write 0s or more",
				"proxyArguments[kube-api-qps][0]: kube-proxy-value: is not a number",
				"proxyArguments[masquerade-all][0]: kube-proxy-value: is neither true nor false",
				"proxyArguments[nodeport-addresses][0]: kube-proxy-value: is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/14, or write primary for the addresses of the Node object",
				"proxyArguments[oom-score-adj][0]: kube-proxy-value: is not a whole number from -1000 to 1000",
				"proxyArguments[pod-bridge-interface][0]: kube-proxy-value: is not the name of a network interface; use 1 to 15 characters, no spaces or slashes",
				"proxyArguments[proxy-mode][0]: kube-proxy-value: is none of nftables, iptables, ipvs",
				"proxyArguments[vmodule][0]: kube-proxy-value: is not of the form pattern=level, for example proxier=4",
			}},
		{"the second value of a list is named", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("ipvs-exclude-cidrs=10.0.0.0/8,10.1.0.0/16", "ipvs-exclude-cidrs=x")},
			[]string{"proxyArguments[ipvs-exclude-cidrs][1]: kube-proxy-value: is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/14"}},
		{"iptables settings do no harm in nftables mode", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=nftables", "iptables-masquerade-bit=13")}, nil},
		{"set twice, to the same value", osv1.ProxyConfig{BindAddress: "::", IptablesSyncPeriod: "60s", ProxyArguments: proxysettings.Args("bind-address=::", "iptables-sync-period=1m")}, nil},
		{"set twice, to different values", osv1.ProxyConfig{BindAddress: "::", IptablesSyncPeriod: "30s", ProxyArguments: proxysettings.Args("bind-address=0.0.0.0", "iptables-sync-period=1m")},
			[]string{
				"proxyArguments[bind-address]: kube-proxy-set-twice: contradicts spec.kubeProxyConfig.bindAddress; set it once, there",
				"proxyArguments[iptables-sync-period]: kube-proxy-set-twice: contradicts spec.kubeProxyConfig.iptablesSyncPeriod; set it once, there",
			}},
		{"kube-proxy does not start with a least period beyond the period", osv1.ProxyConfig{IptablesSyncPeriod: "5s", ProxyArguments: proxysettings.Args("iptables-min-sync-period=10s", "ipvs-min-sync-period=31s")},
			[]string{
				"proxyArguments[iptables-min-sync-period]: kube-proxy-together: is longer than the sync period, which is 5s; write 5s or less",
				"proxyArguments[ipvs-min-sync-period]: kube-proxy-together: is longer than the sync period, which is 30s; write 30s or less",
			}},
		{"modes that need another argument", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("detect-local-mode=BridgeInterface")},
			[]string{"proxyArguments[pod-bridge-interface]: kube-proxy-together: detect-local-mode BridgeInterface needs the argument pod-bridge-interface too"}},
		{"what kube-proxy refuses in lists", osv1.ProxyConfig{ProxyArguments: proxysettings.Args("cluster-cidr=10.0.0.0/9,10.128.0.0/9", "nodeport-addresses=primary,10.0.0.0/8")},
			[]string{
				"proxyArguments[cluster-cidr]: kube-proxy-together: has several networks of one IP family; kube-proxy takes one network, or one of each family",
				"proxyArguments[nodeport-addresses]: kube-proxy-together: has primary together with other values; write either primary or networks",
			}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, complaints(proxysettings.Network(&tc.settings), provider.Traits{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheBindAddressHasTheFamilyOfAPool(t *testing.T) {
	for _, tc := range []struct {
		why, address string
		pools        []string
		refused      bool
	}{
		{"IPv6 alone", "::1", []string{"fd00::/48"}, false},
		{"IPv4 where there is only IPv6", "10.0.0.1", []string{"fd00::/48"}, true},
		{"the second family counts", "::1", []string{"10.128.0.0/14", "fd00::/48"}, false},
		{"a pool that is no network is refused by its own rule", "::1", []string{"10.128.0.0"}, false},
	} {
		if got := complaints(proxysettings.Network(&osv1.ProxyConfig{BindAddress: tc.address}, tc.pools...), provider.Traits{}); (len(got) > 0) != tc.refused {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}

func TestNoOptionsNextToANetworkThatServesServicesItself(t *testing.T) {
	ovn := provider.Traits{Type: operatorv1.NetworkTypeOVNKubernetes, ServiceProxy: true}
	const refusal = `kube-proxy-not-allowed: network type "OVNKubernetes" does not allow specifying kube-proxy options; remove it`
	for _, tc := range []struct {
		why      string
		settings *osv1.ProxyConfig
		want     []string
	}{
		{"not set", nil, nil},
		{"all addresses, as in objects of OpenShift", &osv1.ProxyConfig{BindAddress: "0.0.0.0"}, nil},
		{"the same for IPv6", &osv1.ProxyConfig{BindAddress: "::"}, nil},
		{"everything else", &osv1.ProxyConfig{BindAddress: "10.0.0.1", IptablesSyncPeriod: "30s", ProxyArguments: proxysettings.Args("v=4")},
			[]string{"bindAddress: " + refusal, "iptablesSyncPeriod: " + refusal, "proxyArguments: " + refusal}},
	} {
		if diff := cmp.Diff(tc.want, complaints(proxysettings.Network(tc.settings), ovn)); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}

func TestPoolsThatKubeProxyDoesNotSupport(t *testing.T) {
	two := []string{"10.128.0.0/14", "10.132.0.0/14"}
	refused := func(spec *operatorv1.NetworkSpec) bool {
		return strings.Contains(strings.Join(complaints(spec, provider.Traits{}), "\n"), RuleClusterPools)
	}
	if !refused(proxysettings.Network(nil, two...)) {
		t.Error("two pools of one family are accepted")
	}
	if got := complaints(proxysettings.Network(nil, two...), provider.Traits{}); len(got) != 1 || !strings.Contains(got[0], "proxyArguments[detect-local-mode]: ") {
		t.Errorf("the field is not that of the argument: %q", got)
	}
	if refused(proxysettings.Network(nil, "10.128.0.0/14", "fd01::/48")) {
		t.Error("a pool of each family is refused")
	}
	for _, way := range [][]string{{"cluster-cidr=10.128.0.0/13"}, {"detect-local-mode=BridgeInterface", "pod-bridge-interface=cni0"}} {
		if refused(proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args(way...)}, two...)) {
			t.Errorf("refused although %v configures how to recognize pods", way)
		}
	}
	off := proxysettings.Network(nil, two...)
	off.DeployKubeProxy = new(bool)
	if refused(off) {
		t.Error("refused although no kube-proxy is wanted")
	}
}

func TestAClusterCIDRContainsThePools(t *testing.T) {
	for _, tc := range []struct {
		why, cidr string
		pools     []string
		wrong     bool
	}{
		{"the pool", "10.128.0.0/14", []string{"10.128.0.0/14"}, false},
		{"around the pools", "10.128.0.0/13", []string{"10.128.0.0/14", "10.132.0.0/14"}, false},
		{"elsewhere", "10.0.0.0/16", []string{"10.128.0.0/14"}, true},
		{"a part of the pool", "10.128.0.0/16", []string{"10.128.0.0/14"}, true},
		{"one of two pools", "10.128.0.0/14", []string{"10.128.0.0/14", "10.132.0.0/14"}, true},
		{"the other family has its own pool", "10.128.0.0/14", []string{"10.128.0.0/14", "fd01::/48"}, false},
	} {
		all := strings.Join(complaints(proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("cluster-cidr=" + tc.cidr)}, tc.pools...), provider.Traits{}), "\n")
		if got := strings.Contains(all, RuleClusterCIDR); got != tc.wrong {
			t.Errorf("%s: refused is %t: %s", tc.why, got, all)
		}
	}
}

func TestEveryFlagOfKubeProxyIsTranslatedOrRefusedByName(t *testing.T) {
	// The names that kube-proxy 1.36 --help prints.
	flags, err := os.ReadFile("testdata/flags-1.36.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := translated()
	var has []string
	for name := range strings.FieldsSeq(string(flags)) {
		_, ok := known[name]
		if ok == (refused(name, []string{"x"}) != "") {
			t.Errorf("%s: translated %v, and refused: %q", name, ok, refused(name, []string{"x"}))
		}
		if ok {
			has = append(has, name)
		}
	}
	if diff := cmp.Diff(has, sorted(known)); diff != "" {
		t.Errorf("flags that kube-proxy does not have are translated (+):\n%s", diff)
	}
}

func FuzzArguments(f *testing.F) {
	for _, name := range sorted(translated()) {
		for _, value := range []string{"1s", "30", "true", "10.0.0.0/8,fd00::/8", "NodeCIDR", "", "a=1"} {
			f.Add(name, value, "30s", "::")
		}
	}
	f.Fuzz(func(t *testing.T, name, value, period, bind string) {
		settings := &osv1.ProxyConfig{
			IptablesSyncPeriod: period, BindAddress: bind,
			ProxyArguments: map[string]osv1.ProxyArgumentList{name: {value}},
		}
		spec := proxysettings.Network(settings)
		if len(Validate(spec, provider.Traits{})) > 0 {
			return
		}
		filled := Default(spec, nil, provider.Traits{}, facts.Cluster{})
		c, err := Configuration(filled, 29102, false)
		if err != nil {
			t.Fatalf("%s=%q is valid, but cannot be rendered: %v", name, value, err)
		}
		if text, err := Encode(c); err != nil || text == "" {
			t.Fatalf("%s=%q: %v", name, value, err)
		}
		if errs := Validate(filled, provider.Traits{}); len(errs) > 0 {
			t.Fatalf("%s=%q is valid, but not once it is filled: %v", name, value, errs)
		}
	})
}

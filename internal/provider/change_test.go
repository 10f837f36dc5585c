package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

const flannelConfig = "spec.defaultNetwork.flannelConfig"

// spec is a specification with some settings.
func spec(change func(*operatorv1.NetworkSpec, *operatorv1.FlannelConfig)) *operatorv1.NetworkSpec {
	s := &operatorv1.NetworkSpec{}
	s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	change(s, s.DefaultNetwork.FlannelConfig)
	return s
}

func nothing(*operatorv1.NetworkSpec, *operatorv1.FlannelConfig) {}

func TestCheckFields(t *testing.T) {
	type edit = func(*operatorv1.NetworkSpec, *operatorv1.FlannelConfig)
	backend := func(b operatorv1.FlannelBackend) edit {
		return func(_ *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) { c.Backend = b }
	}
	link := func(name string) edit {
		return func(_ *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) { c.Interface = name }
	}
	mtu := func(mtu uint32) edit {
		return func(_ *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) { c.MTU = &mtu }
	}
	multi := func(off bool) edit {
		return func(s *operatorv1.NetworkSpec, _ *operatorv1.FlannelConfig) { s.DisableMultiNetwork = &off }
	}
	etcd := func(e operatorv1.FlannelEtcd) edit {
		return func(_ *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) { c.Etcd = &e }
	}
	endpoints := func(all ...string) edit {
		return etcd(operatorv1.FlannelEtcd{External: &operatorv1.FlannelExternalEtcd{Endpoints: all}})
	}
	proxyMode := func(mode string) edit {
		return func(s *operatorv1.NetworkSpec, _ *operatorv1.FlannelConfig) {
			s.KubeProxyConfig = &osv1.ProxyConfig{ProxyArguments: map[string]osv1.ProxyArgumentList{"proxy-mode": {mode}, "v": {"4"}}}
		}
	}
	announcedMTU := func(from, to *uint32) edit {
		return func(s *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) {
			mtu(1400)(s, c)
			s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: from, To: to}}}
		}
	}
	fixed := func(path string) Field {
		return Field{Path: path, Class: Rolling, Acknowledge: true, Fixed: "a-rule", Subject: "it", Reason: "it breaks"}
	}
	unset := fixed(flannelConfig + ".interface")
	unset.Unset = true
	forbidden := fixed(flannelConfig + ".backend")
	forbidden.Acknowledge = false
	migrated := fixed(flannelConfig + ".mtu")
	migrated.Class = Migration
	off := fixed("spec.disableMultiNetwork")
	off.LeftOut = "false"
	choice := fixed(flannelConfig + ".etcd")
	choice.Choice = []string{"managed", "external"}
	const refused = `: "vxlan": cannot change it: it breaks; put the old value back`
	for _, tc := range []struct {
		why        string
		table      []Field
		prev, next edit
		want       []string
	}{
		{"another value", []Field{fixed(flannelConfig + ".backend")}, backend("host-gw"), backend("vxlan"), []string{flannelConfig + ".backend: Invalid value" + refused}},
		{"the same value", []Field{fixed(flannelConfig + ".backend")}, backend("vxlan"), backend("vxlan"), nil},
		{"a field that is left out keeps what it has", []Field{fixed(flannelConfig + ".backend")}, backend("vxlan"), nothing, nil},
		{"a value that was not recorded", []Field{fixed(flannelConfig + ".backend")}, nothing, backend("vxlan"), nil},
		{"without an acknowledgement, the change can be forced", []Field{forbidden}, backend("host-gw"), backend("vxlan"), []string{flannelConfig + ".backend: Invalid value" + refused + ", or force the change as docs/safety.md describes"}},
		{"no rule", []Field{{Path: flannelConfig + ".backend", Class: Forbidden}}, backend("host-gw"), backend("vxlan"), nil},
		{"having no value is a value", []Field{unset}, link("eth1"), nothing, []string{flannelConfig + `.interface: Invalid value: "": cannot change it: it breaks; put the old value back`}},
		{"from having no value", []Field{unset}, nothing, link("eth1"), []string{flannelConfig + `.interface: Invalid value: "eth1": cannot change it: it breaks; put the old value back`}},
		{"left out is false", []Field{off}, multi(true), nothing, []string{`spec.disableMultiNetwork: Invalid value: "false": cannot change it: it breaks; put the old value back`}},
		{"left out is false, which it was", []Field{off}, multi(false), nothing, nil},
		{"a number", []Field{fixed(flannelConfig + ".mtu")}, mtu(1500), mtu(1400), []string{flannelConfig + `.mtu: Invalid value: 1400: cannot change it: it breaks; put the old value back`}},
		{"zero is left out", []Field{fixed(flannelConfig + ".mtu")}, mtu(1500), mtu(0), nil},
		{"a migration that is announced", []Field{migrated}, mtu(1500), announcedMTU(new(uint32(1500)), new(uint32(1400))), nil},
		{"an announcement without an end announces nothing", []Field{migrated}, mtu(1500), announcedMTU(nil, new(uint32(1400))), []string{flannelConfig + `.mtu: Invalid value: 1400: cannot change it: it breaks; put the old value back`}},
		{"a field that is no migration's", []Field{fixed(flannelConfig + ".mtu")}, mtu(1500), announcedMTU(new(uint32(1500)), new(uint32(1400))), []string{flannelConfig + `.mtu: Invalid value: 1400: cannot change it: it breaks; put the old value back`}},
		{"another choice", []Field{choice}, nothing, endpoints("http://a:1"), []string{flannelConfig + `.etcd.external: Forbidden: cannot change it from managed to external: it breaks; put the old value back`}},
		{"the rollback", []Field{choice}, endpoints("http://a:1"), etcd(operatorv1.FlannelEtcd{Managed: &operatorv1.FlannelManagedEtcd{}}), []string{flannelConfig + `.etcd.managed: Forbidden: cannot change it from external to managed: it breaks; put the old value back`}},
		{"the same choice, whose fields have no rule", []Field{choice}, endpoints("http://a:1"), endpoints("http://b:1"), nil},
		{"an entry stands for the fields below it", []Field{fixed(flannelConfig + ".etcd.external")}, endpoints("http://a:1"), endpoints("http://a:1", "http://b:1"), []string{flannelConfig + `.etcd.external.endpoints: Invalid value: ["http://a:1","http://b:1"]: cannot change it: it breaks; put the old value back`}},
		{"but for those with an entry", []Field{fixed(flannelConfig + ".etcd.external"), {Path: flannelConfig + ".etcd.external.endpoints"}}, endpoints("http://a:1"), endpoints("http://b:1"), nil},
		{"a key of a map", []Field{fixed("spec.kubeProxyConfig.proxyArguments.proxy-mode")}, proxyMode("iptables"), proxyMode("nftables"), []string{`spec.kubeProxyConfig.proxyArguments.proxy-mode: Invalid value: ["nftables"]: cannot change it: it breaks; put the old value back`}},
		{"another key of the map", []Field{fixed("spec.kubeProxyConfig.proxyArguments.v")}, proxyMode("iptables"), proxyMode("nftables"), nil},
	} {
		errs := CheckFields(spec(tc.prev), spec(tc.next), tc.table)
		var got []string
		for _, err := range errs {
			got = append(got, err.Error())
			if err.Origin != "a-rule" {
				t.Errorf("%s: rule %q", tc.why, err.Origin)
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.why, d)
		}
	}
}

func TestAFieldWithoutSubjectIsCalledByItsName(t *testing.T) {
	f := Field{Path: flannelConfig + ".backend", Reason: "it breaks"}
	if got := f.Refusal(); got != "cannot change backend: it breaks" {
		t.Error(got)
	}
}

func TestNearestEntryAppliesToAField(t *testing.T) {
	table := []Field{{Path: "spec.a"}, {Path: "spec.a.b"}, {Path: "spec.ab"}}
	for path, want := range map[string]string{
		"spec.a": "spec.a", "spec.a.c": "spec.a", "spec.a.b.c": "spec.a.b", "spec.ab": "spec.ab", "spec.abc": "", "": "",
	} {
		if got := FieldOf(table, path).Path; got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

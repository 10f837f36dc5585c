package multus

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const bridge = `{"cniVersion": "1.0.0", "type": "bridge"}`

func raw(name, config string) osv1.AdditionalNetworkDefinition {
	return osv1.AdditionalNetworkDefinition{Type: osv1.NetworkTypeRaw, Name: name, RawCNIConfig: config}
}

func macvlan(m osv1.SimpleMacvlanConfig) osv1.AdditionalNetworkDefinition {
	return osv1.AdditionalNetworkDefinition{Type: osv1.NetworkTypeSimpleMacvlan, Name: "x", SimpleMacvlanConfig: &m}
}

func static(s osv1.StaticIPAMConfig) osv1.AdditionalNetworkDefinition {
	return macvlan(osv1.SimpleMacvlanConfig{IPAMConfig: &osv1.IPAMConfig{Type: osv1.IPAMTypeStatic, StaticIPAMConfig: &s}})
}

// complaints are the errors as "field: rule: detail", without the beginning of the path that all have.
func complaints(networks ...osv1.AdditionalNetworkDefinition) []string {
	var got []string
	for _, e := range component().Validate(&operatorv1.NetworkSpec{AdditionalNetworks: networks}, provider.Traits{}) {
		got = append(got, strings.TrimPrefix(e.Field, "spec.additionalNetworks")+": "+e.Origin+": "+e.Detail)
	}
	return got
}

func TestErrorsInAdditionalNetworks(t *testing.T) {
	for _, tc := range []struct {
		why      string
		networks []osv1.AdditionalNetworkDefinition
		want     []string
	}{
		{"none", nil, nil},
		{"one plugin, and a list of them", []osv1.AdditionalNetworkDefinition{raw("a", bridge), raw("b", `{"plugins": [{"type": "bridge"}]}`)}, nil},
		{"nothing is set", []osv1.AdditionalNetworkDefinition{{}},
			[]string{
				"[0].name: additional-network-name: the additional network needs a name, by which pods ask for it",
				"[0].type: additional-network-type: unknown or unsupported NetworkType: ; use Raw or SimpleMacvlan",
			}},
		{"names that no object can have", []osv1.AdditionalNetworkDefinition{{Type: "SimpleMacvlan", Name: "My Net", Namespace: "a.b"}},
			[]string{
				"[0].name: additional-network-name: cannot be the name of an object; use lower-case letters, digits, dashes and dots, and begin and end with a letter or a digit",
				"[0].namespace: additional-network-namespace: cannot be the name of a namespace; use lower-case letters, digits and dashes, at most 63, or leave it out for the namespace default",
			}},
		{"the second of a name would replace the first", []osv1.AdditionalNetworkDefinition{raw("a", bridge), raw("b", bridge), raw("a", bridge)},
			[]string{"[2].name: additional-network-duplicate: is already the name of spec.additionalNetworks[0]; every additional network needs a different name"}},
		{"a configuration that the type does not read", []osv1.AdditionalNetworkDefinition{
			{Type: "Raw", Name: "a", RawCNIConfig: bridge, SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{}},
			{Type: "SimpleMacvlan", Name: "b", RawCNIConfig: bridge},
		}, []string{
			"[0].simpleMacvlanConfig: additional-network-other-config: has no effect on a network of type Raw; remove it, or change the type",
			"[1].rawCNIConfig: additional-network-other-config: has no effect on a network of type SimpleMacvlan; remove it, or change the type",
		}},
		{"macvlan with everything left out", []osv1.AdditionalNetworkDefinition{macvlan(osv1.SimpleMacvlanConfig{})}, nil},
		{"macvlan words", []osv1.AdditionalNetworkDefinition{macvlan(osv1.SimpleMacvlanConfig{Mode: "Hub", Master: "not/an/interface", IPAMConfig: &osv1.IPAMConfig{Type: "Dynamic"}})},
			[]string{
				"[0].simpleMacvlanConfig.mode: simple-macvlan: invalid Macvlan mode: Hub; use Bridge, Private, VEPA or Passthru",
				"[0].simpleMacvlanConfig.master: simple-macvlan: is not the name of a network interface; use 1 to 15 characters, no spaces or slashes",
				"[0].simpleMacvlanConfig.ipamConfig.type: simple-macvlan-ipam: invalid IPAM type: Dynamic; use DHCP or Static",
			}},
		{"addresses that no one reads", []osv1.AdditionalNetworkDefinition{macvlan(osv1.SimpleMacvlanConfig{IPAMConfig: &osv1.IPAMConfig{Type: "DHCP", StaticIPAMConfig: &osv1.StaticIPAMConfig{}}})},
			[]string{"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig: simple-macvlan-ipam: has no effect with IPAM type DHCP; remove it, or use type Static"}},
		{"a right static address", []osv1.AdditionalNetworkDefinition{static(osv1.StaticIPAMConfig{
			Addresses: []osv1.StaticIPAMAddresses{{Address: "192.0.2.10/24", Gateway: "192.0.2.1"}},
			Routes:    []osv1.StaticIPAMRoutes{{Destination: "0.0.0.0/0"}}, DNS: &osv1.StaticIPAMDNS{Nameservers: []string{"192.0.2.1"}},
		})}, nil},
		{"wrong static addresses", []osv1.AdditionalNetworkDefinition{static(osv1.StaticIPAMConfig{
			Addresses: []osv1.StaticIPAMAddresses{{Address: "192.0.2.10"}, {Address: "10.1.0.5/24", Gateway: "10.2.0.1"}, {Address: "10.1.0.5/24", Gateway: "router"}},
			Routes:    []osv1.StaticIPAMRoutes{{Destination: "10.1.0.5/24", Gateway: "1.2.3"}}, DNS: &osv1.StaticIPAMDNS{Nameservers: []string{"dns.example.com"}},
		})}, []string{
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.addresses[0].address: simple-macvlan-ipam: invalid static address: 192.0.2.10; write an address and a prefix, for example 192.0.2.10/24",
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.addresses[1].gateway: simple-macvlan-ipam: gateway 10.2.0.1 is not inside 10.1.0.0/24",
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.addresses[2].gateway: simple-macvlan-ipam: invalid gateway: router; write an IP address",
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.routes[0].destination: simple-macvlan-ipam: invalid route destination: 10.1.0.5/24 has host bits set; did you mean 10.1.0.0/24?",
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.routes[0].gateway: simple-macvlan-ipam: invalid gateway: 1.2.3; write an IP address",
			"[0].simpleMacvlanConfig.ipamConfig.staticIPAMConfig.dns.nameservers[0]: simple-macvlan-ipam: invalid nameserver: dns.example.com; write an IP address",
		}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, complaints(tc.networks...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSONErrorsHaveTheirPosition(t *testing.T) {
	for _, tc := range []struct{ why, text, want string }{
		{"nothing", " \n", "a network of type Raw needs its CNI configuration as JSON"},
		{"no JSON", "bridge", `is not valid JSON: invalid character 'b' looking for beginning of value, at 1:1, near "bridge"`},
		{"a comma too many, in the third line", "{\n  \"type\": \"bridge\",\n  }", `is not valid JSON: invalid character '}' looking for beginning of object key string, at 3:3, near "  }"`},
		{"columns are counted in characters", `{"näme": x}`, `is not valid JSON: invalid character 'x' looking for beginning of value, at 1:10, near "{\"näme\": x}"`},
		{"cut off", `{"type": "bridge"`, `is not valid JSON: it ends too early, at 1:18, near "{\"type\": \"bridge\""`},
		{"two of them", bridge + "\n" + bridge, `has text after the JSON value, at 2:1, near "{\"cniVersion\": \"1.0."`},
		{"a list", "[]", `is not a JSON object; write {"cniVersion": ..., "type": ...}`},
		{"no plugin", `{"plugins": []}`, `names no plugin; add "type", or "plugins" with a list of plugins`},
	} {
		want := []string{"[0].rawCNIConfig: raw-cni-config: " + tc.want}
		if diff := cmp.Diff(want, complaints(raw("a", tc.text))); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}

func TestAdditionalNetworksAreRefusedWhenDisabled(t *testing.T) {
	yes := true
	spec := &operatorv1.NetworkSpec{DisableMultiNetwork: &yes}
	if errs := component().Validate(spec, provider.Traits{}); len(errs) > 0 {
		t.Errorf("nothing is asked for, and yet: %v", errs)
	}
	spec.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{raw("a", bridge)}
	errs := component().Validate(spec, provider.Traits{})
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Detail, "additional networks cannot be specified without deploying Multus") {
		t.Errorf("got %v", errs)
	}
}

func FuzzRawCNIConfig(f *testing.F) {
	for _, s := range []string{bridge, "", "{", "[]", "nul", "{\"a\":\n\x80}", "{} {}", `{"plugins":[{}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range validateRaw(text, field.NewPath("x")) {
			if utf8.ValidString(text) && !utf8.ValidString(e.Detail) || len(e.Detail) > 400 {
				t.Errorf("%q: %q", text, e.Detail)
			}
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		why  string
		m    operatorv1.MultiNetworkConfig
		want string
	}{
		{"nothing set", operatorv1.MultiNetworkConfig{}, ""},
		{"all set", operatorv1.MultiNetworkConfig{
			NamespaceIsolation: new(false), GlobalNamespaces: []string{"a", "b"}, Attachments: operatorv1.AttachmentsRestricted,
			Restricted: &operatorv1.RestrictedAttachments{Masters: []string{"eth1", "bond0.5"}},
		}, ""},
		{"masters before the level is set", operatorv1.MultiNetworkConfig{Restricted: &operatorv1.RestrictedAttachments{Masters: []string{"eth1"}}}, ""},
		{"names that no namespace has, and one twice", operatorv1.MultiNetworkConfig{GlobalNamespaces: []string{"a", "A", "a"}},
			`spec.multiNetwork.globalNamespaces[1] "A" cannot be the name of a namespace; use lower-case letters, digits and dashes, at most 63; ` +
				`spec.multiNetwork.globalNamespaces[2] "a" is already spec.multiNetwork.globalNamespaces[0]; remove one of them`},
		{"another level", operatorv1.MultiNetworkConfig{Attachments: "trusted"}, `spec.multiNetwork.attachments "trusted" is not a level; use Trusted or Restricted`},
		{"names that no interface has, and one twice", operatorv1.MultiNetworkConfig{Restricted: &operatorv1.RestrictedAttachments{Masters: []string{"eth1", "a b", "", "..", "abcdefghijklmnop", "eth1"}}},
			`spec.multiNetwork.restricted.masters[1] "a b" ` + rules.RestrictedMaster.Detail() + `; spec.multiNetwork.restricted.masters[2] "" ` + rules.RestrictedMaster.Detail() +
				`; spec.multiNetwork.restricted.masters[3] ".." ` + rules.RestrictedMaster.Detail() + `; spec.multiNetwork.restricted.masters[4] "abcdefghijklmnop" ` + rules.RestrictedMaster.Detail() +
				`; spec.multiNetwork.restricted.masters[5] "eth1" is already spec.multiNetwork.restricted.masters[0]; remove one of them`},
	} {
		var got []string
		for _, err := range component().Validate(&operatorv1.NetworkSpec{MultiNetwork: &tc.m}, provider.Traits{}) {
			got = append(got, fmt.Sprintf("%s %q %s", err.Field, err.BadValue, err.Detail))
			if err.Origin == "" {
				t.Errorf("%s: %v has no rule", tc.why, err)
			}
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %s", tc.why, strings.Join(got, "; "))
		}
	}
}

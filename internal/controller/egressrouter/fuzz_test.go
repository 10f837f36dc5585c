package egressrouter

import (
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// plugin reads a configuration as the plug-in egress-router does.
type plugin struct {
	CNIVersion    string            `json:"cniVersion"`
	Type          string            `json:"type"`
	InterfaceType string            `json:"interfaceType"`
	InterfaceArgs map[string]string `json:"interfaceArgs"`
	IP            struct {
		Addresses    []string `json:"addresses"`
		Gateway      string   `json:"gateway"`
		Destinations []string `json:"destinations"`
	} `json:"ip"`
}

// check complains of what the plug-in would fail on, or do wrong.
func (p *plugin) check(t *testing.T) {
	t.Helper()
	if p.Type != "egress-router" || p.InterfaceType != "macvlan" {
		t.Errorf("it is not called, or makes no macvlan: %+v", p)
	}
	switch p.InterfaceArgs["mode"] {
	case "bridge", "private", "vepa", "passthru":
	default:
		t.Errorf("mode %q", p.InterfaceArgs["mode"])
	}
	if len(p.IP.Addresses) != 1 {
		t.Fatalf("it uses the first of %q only", p.IP.Addresses)
	}
	address, _, err := net.ParseCIDR(p.IP.Addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	gateway := net.ParseIP(p.IP.Gateway)
	if gateway == nil || (gateway.To4() == nil) != (address.To4() == nil) {
		t.Errorf("gateway %q of %s", p.IP.Gateway, address)
	}
	for i, destination := range p.IP.Destinations {
		words := strings.Split(destination, " ")
		ip := words[0]
		switch len(words) {
		case 1:
			if i != len(p.IP.Destinations)-1 {
				t.Errorf("nothing after %q is ever looked at", destination)
			}
		case 3, 4:
			ip = words[2]
			checkPort(t, words[0])
			if protocol := words[1]; protocol != "TCP" && protocol != "UDP" && protocol != "SCTP" {
				t.Errorf("protocol of %q", destination)
			}
			if len(words) == 4 {
				checkPort(t, words[3])
				if strings.Contains(ip, ":") {
					t.Errorf("the port of %q would be read as a part of the address", destination)
				}
			}
		default:
			t.Errorf("%q has %d words", destination, len(words))
		}
		if parsed := net.ParseIP(ip); parsed == nil || (parsed.To4() == nil) != (address.To4() == nil) {
			t.Errorf("%q is not of the family of %s", destination, address)
		}
	}
}

func checkPort(t *testing.T, text string) {
	t.Helper()
	if port, err := strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		t.Errorf("port %q", text)
	}
}

// FuzzValidRoutersAreWhatThePluginTakes promises that no specification makes the loop panic, and that what it does not refuse is a
// configuration that the plug-in takes, with every rule in it once.
func FuzzValidRoutersAreWhatThePluginTakes(f *testing.F) {
	for _, row := range specs() {
		spec := &networkv1.EgressRouterSpec{}
		content, err := json.Marshal(specOf(f, row.spec))
		if err != nil {
			f.Fatal(err)
		}
		if err := json.Unmarshal(content, spec); err != nil {
			f.Fatal(err)
		}
		f.Add("router", string(content))
	}
	f.Add(strings.Repeat("a.", 100)+"b", `{"addresses":[{"ip":"10.0.0.1/8","gateway":"10.0.0.2"}],"redirect":{"fallbackIP":"10.0.0.3"}}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		router := valid(name)
		router.Spec = networkv1.EgressRouterSpec{}
		if json.Unmarshal([]byte(text), &router.Spec) != nil || name == "" {
			return
		}
		errs := Validate(&router.Spec)
		made, err := objects(router, settings{Image: "i", Version: "v"})
		if len(errs) > 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(made) != len(router.Spec.Addresses)+1 {
			t.Fatalf("%d objects for %d addresses", len(made), len(router.Spec.Addresses))
		}
		rules := 0
		for _, o := range made[:len(made)-1] {
			config, ok := o.Object["spec"].(map[string]any)["config"].(string)
			var p plugin
			if err := json.Unmarshal([]byte(config), &p); err != nil || !ok {
				t.Fatal(err)
			}
			p.check(t)
			rules += len(p.IP.Destinations)
			if _, err := netip.ParsePrefix(p.IP.Addresses[0]); err != nil {
				t.Error(err)
			}
		}
		want := len(router.Spec.Redirect.RedirectRules)
		if router.Spec.Redirect.FallbackIP != "" {
			want++
		}
		if rules != want {
			t.Errorf("%d rules of %d", rules, want)
		}
	})
}

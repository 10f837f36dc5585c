package topology

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWellKnownAddresses(t *testing.T) {
	tests := map[string]struct {
		options                       Options
		api, nameServer, gateway, end string
	}{
		"IPv4": {
			Options{ControlPlanes: 1, Family: IPv4},
			"[10.96.0.1]", "[10.96.0.10]", "[10.89.0.1]", "10.89.0.11:6443",
		},
		"IPv6": {
			Options{ControlPlanes: 1, Family: IPv6},
			"[fd96::1]", "[fd96::a]", "[fd89::1]", "[fd89::b]:6443",
		},
		"both": {
			Options{ControlPlanes: 1, Family: DualStack},
			"[10.96.0.1 fd96::1]", "[10.96.0.10 fd96::a]", "[10.89.0.1 fd89::1]", "10.89.0.11:6443",
		},
		"several API servers are behind the underlay": {
			Options{ControlPlanes: 3, Family: IPv4},
			"[10.96.0.1]", "[10.96.0.10]", "[10.89.0.1]", "10.89.0.1:6443",
		},
		"a service network of the user's": {
			Options{ControlPlanes: 1, Family: IPv4, ServiceNetwork: prefixes("172.30.0.0/16")},
			"[172.30.0.1]", "[172.30.0.10]", "[10.89.0.1]", "10.89.0.11:6443",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lab, err := New(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{
				fmt.Sprint(lab.APIService()), fmt.Sprint(lab.NameServer()), fmt.Sprint(lab.Family.Gateways()), lab.Endpoint().String(),
			}
			if diff := cmp.Diff([]string{tt.api, tt.nameServer, tt.gateway, tt.end}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServiceNetworkOf(t *testing.T) {
	tests := map[string]struct {
		file, want string
		fails      bool
	}{
		"a Network has a list": {
			file: "kind: Network\nspec:\n  serviceNetwork: [172.30.0.0/16, fd02::/112]\n", want: "[172.30.0.0/16 fd02::/112]",
		},
		"a NetworkConfig has one prefix": {
			file: "kind: NetworkConfig\nspec:\n  serviceNetwork: 172.30.0.0/16\n", want: "[172.30.0.0/16]",
		},
		"other objects in the file are passed over": {
			file: "kind: Namespace\n---\nkind: Network\nspec:\n  serviceNetwork: [10.0.0.0/16]\n", want: "[10.0.0.0/16]",
		},
		"none at all leaves the choice to the lab":   {file: "kind: Network\nspec: {}\n", want: "[]"},
		"a file without a network does so, too":      {file: "kind: Namespace\n", want: "[]"},
		"what is no prefix is an error":              {file: "kind: Network\nspec:\n  serviceNetwork: [nonsense]\n", fails: true},
		"what is not YAML is an error, not a crash":  {file: "\t:", fails: true},
		"a number where a prefix belongs is as well": {file: "kind: Network\nspec:\n  serviceNetwork: 7\n", fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ServiceNetworkOf([]byte(tt.file))
			if (err != nil) != tt.fails {
				t.Fatalf("error %v", err)
			}
			if !tt.fails && fmt.Sprint(got) != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestParseFamily(t *testing.T) {
	for _, f := range []Family{IPv4, IPv6, DualStack} {
		if got, err := ParseFamily(string(f)); err != nil || got != f {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	if _, err := ParseFamily("5"); err == nil {
		t.Error("family 5 was accepted")
	}
}

package agentconfig_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

var netipCompare = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

func valid(changes ...func(*agentconfig.Config)) agentconfig.Config {
	c := agentconfig.Default()
	c.Etcd.Endpoints = []string{"https://192.0.2.10:2379"}
	c.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.128.0.0/14"), IPv4SubnetLen: 23}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestDecodeFillsDefaultsAndRefusesUnknownFields(t *testing.T) {
	const least = `{"version":1,"etcd":{"endpoints":["https://192.0.2.10:2379"]},"network":{"ipv4":"10.128.0.0/14","ipv4SubnetLen":23}}`
	got, err := agentconfig.Decode([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valid(), got, netipCompare); diff != "" {
		t.Errorf("the least file is not the default (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ why, in, want string }{
		{"a misspelt field would silently do nothing", `{"vresion":1}`, "vresion"},
		{"a misspelt field deep inside too", `{"cni":{"confdirs":"/x"}}`, "confdirs"},
		{"two objects mean a broken write", least + least, "after the object"},
		{"half a file means a broken write", least[:40], "unexpected EOF"},
		{"a CIDR that is none", `{"network":{"ipv4":"10.128.0.0"}}`, "10.128.0.0"},
	} {
		if _, err := agentconfig.Decode([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Decode(%s) = %v, want an error with %q", tt.why, tt.in, err, tt.want)
		}
	}
}

func TestValidateReportsAllErrorsAtOnce(t *testing.T) {
	type change = func(*agentconfig.Config)
	for _, tt := range []struct {
		why    string
		change change
		want   []string
	}{
		{"the smallest configuration is valid", func(*agentconfig.Config) {}, nil},
		{"dual stack is valid", func(c *agentconfig.Config) {
			c.Network.IPv6, c.Network.IPv6SubnetLen = netip.MustParsePrefix("fd00:10::/48"), 64
		}, nil},
		{"vxlan is valid", func(c *agentconfig.Config) {
			c.Backend = agentconfig.Backend{Type: "vxlan", VNI: 1, Port: 8472}
		}, nil},
		{"nothing given: every required field is named", func(c *agentconfig.Config) { *c = agentconfig.Config{} }, []string{
			"version", "etcd.endpoints", "etcd.prefix", "network.ipv4", "backend.type", "cni.confDir", "cni.bridge", "cni.cniVersion",
			"subnetFile", "stateDir", "procSys", "healthAddress",
		}},
		{"vxlan settings do nothing for host-gw", func(c *agentconfig.Config) { c.Backend.VNI, c.Backend.Port = 1, 8472 },
			[]string{"backend.vni", "backend.port"}},
		{"vxlan needs its settings", func(c *agentconfig.Config) { c.Backend.Type = "vxlan" }, []string{"backend.vni", "backend.port"}},
		{"a key without certificate", func(c *agentconfig.Config) { c.Etcd.KeyFile = "/k" }, []string{"etcd.certFile"}},
		{"a relative file", func(c *agentconfig.Config) { c.Etcd.CAFile = "ca.crt" }, []string{"etcd.caFile"}},
		{"an endpoint is a URL", func(c *agentconfig.Config) { c.Etcd.Endpoints = []string{"https://a:1", "b:2379"} },
			[]string{"etcd.endpoints[1]"}},
		{"a slash at the end makes other keys", func(c *agentconfig.Config) { c.Etcd.Prefix = "/a/" }, []string{"etcd.prefix"}},
		{"host bits", func(c *agentconfig.Config) { c.Network.IPv4 = netip.MustParsePrefix("10.128.0.1/14") }, []string{"network.ipv4"}},
		{"fewer than four subnets", func(c *agentconfig.Config) { c.Network.IPv4SubnetLen = 15 }, []string{"network.ipv4SubnetLen"}},
		{"no room for pods", func(c *agentconfig.Config) { c.Network.IPv4SubnetLen = 31 }, []string{"network.ipv4SubnetLen"}},
		{"families the wrong way round", func(c *agentconfig.Config) {
			c.Network.IPv4, c.Network.IPv6 = netip.MustParsePrefix("fd00::/48"), c.Network.IPv4
		}, []string{"network.ipv4", "network.ipv6"}},
		{"a length without IPv6", func(c *agentconfig.Config) { c.Network.IPv6SubnetLen = 64 }, []string{"network.ipv6SubnetLen"}},
		{"an interface name the kernel refuses", func(c *agentconfig.Config) { c.Interface, c.CNI.Bridge = "a/b", "sixteencharacter" },
			[]string{"interface", "cni.bridge"}},
		{"an MTU below IPv4's least", func(c *agentconfig.Config) { c.MTU = 100 }, []string{"mtu"}},
		{"a plugin directory that is relative", func(c *agentconfig.Config) { c.CNI.BinDir = "bin" }, []string{"cni.binDir"}},
		{"a health address without port", func(c *agentconfig.Config) { c.HealthAddress = "127.0.0.1" }, []string{"healthAddress"}},
	} {
		var got []string
		for _, err := range valid(tt.change).Validate() {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", tt.why, diff)
		}
	}
}

func FuzzWhatIsEncodedDecodesToTheSame(f *testing.F) {
	seed, err := valid().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"backend":{"type":"vxlan","vni":7},"network":{"ipv6":"fd00::/48"},"masquerade":false}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := agentconfig.Decode(data)
		if err != nil {
			return
		}
		first.Validate() // must not panic with any content
		out, err := first.Encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := agentconfig.Decode(out)
		if err != nil {
			t.Fatalf("%v, from\n%s", err, out)
		}
		if diff := cmp.Diff(first, second, netipCompare); diff != "" {
			t.Errorf("round trip (-first +second):\n%s", diff)
		}
	})
}

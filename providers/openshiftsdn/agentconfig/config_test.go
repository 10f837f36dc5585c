package agentconfig

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// full is a configuration without an error.
func full() Config {
	c := Default()
	c.ClusterNetworks = []ClusterNetwork{{netip.MustParsePrefix("10.128.0.0/14"), 23}, {netip.MustParsePrefix("192.168.0.0/18"), 30}}
	c.ServiceNetwork = netip.MustParsePrefix("172.30.0.0/16")
	c.MTU = 1450
	c.ReservedVNIDs = map[string]uint32{"kube-system": 0}
	return c
}

func TestTheAgentsReadWhatTheOperatorWrites(t *testing.T) {
	c := full()
	c.Migration = &agentfile.MTUMigration{Step: 1, RoutableMTU: 1400}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	if got.PodMTU() != 1400 || full().PodMTU() != 1450 {
		t.Errorf("%d during a change of the MTU, %d otherwise", got.PodMTU(), full().PodMTU())
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*Config)
		want   []string
	}{
		{"a complete configuration", func(*Config) {}, nil},
		{"all limits", func(c *Config) { c.VXLANPort, c.MTU, c.MasqueradeBit, c.Mode = 65535, 576, 31, Subnet }, nil},
		{"what has no default is missing", func(c *Config) { *c = Default() }, []string{"clusterNetworks", "mtu", "serviceNetwork"}},
		{"a mode in another spelling", func(c *Config) { c.Mode = "subnet" }, []string{"mode"}},
		{"numbers out of range", func(c *Config) { c.VXLANPort, c.MTU, c.MasqueradeBit = 0, 575, 32 }, []string{"masqueradeBit", "mtu", "vxlanPort"}},
		{"IPv6", func(c *Config) { c.ServiceNetwork = netip.MustParsePrefix("fd02::/112") }, []string{"serviceNetwork"}},
		{"pools that overlap Services, with host bits, and without room", func(c *Config) {
			c.ClusterNetworks[0].CIDR, c.ClusterNetworks[1].CIDR = netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.1/18")
			c.ClusterNetworks[0].HostPrefix = 31
		}, []string{"clusterNetworks[0].hostPrefix", "clusterNetworks[1].cidr", "serviceNetwork"}},
		{"a block larger than its pool", func(c *Config) { c.ClusterNetworks[0].HostPrefix = 13 }, []string{"clusterNetworks[0].hostPrefix"}},
		{"a VNID of tenants is reserved", func(c *Config) { c.ReservedVNIDs["a"] = 10 }, []string{"reservedVNIDs[a]"}},
		{"relative paths", func(c *Config) { c.CNI.Socket, c.StateDir = "socket", "/var/../etc" }, []string{"cni.socket", "stateDir"}},
		{"a path in place of a name", func(c *Config) { c.SwitchNamespace = "/run/netns/ovs" }, []string{"switchNamespace"}},
		{"addresses without a port", func(c *Config) { c.NodeHealthAddress, c.ControllerHealthAddress = "127.0.0.1", "" }, []string{"controllerHealthAddress", "nodeHealthAddress"}},
		{"a log level", func(c *Config) { c.LogLevel = "5" }, []string{"logLevel"}},
		{"a step of a change of the MTU", func(c *Config) { c.Migration = &agentfile.MTUMigration{RoutableMTU: 9000} }, []string{"migration.routableMTU", "migration.step"}},
		{"another version", func(c *Config) { c.Version = 2 }, []string{"version"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := full()
			row.change(&c)
			var got []string
			for _, e := range c.Validate() {
				got = append(got, e.Field)
			}
			slices.Sort(got)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzDecode: what is read and valid is written and read again as it was.
func FuzzDecode(f *testing.F) {
	data, err := full().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"mode":"Multitenant","clusterNetworks":[{"cidr":"10.0.0.0/8","hostPrefix":23}],"serviceNetwork":"172.30.0.0/16","mtu":1450}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if err != nil || len(c.Validate()) > 0 {
			return
		}
		data, err = c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

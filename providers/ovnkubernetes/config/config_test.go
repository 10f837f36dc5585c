package config_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

func variables(v map[string]string) func(string) string {
	return func(name string) string { return v[name] }
}

func TestArgumentsOverrideVariablesAndVariablesTheFile(t *testing.T) {
	file := []byte("[default]\nmtu=1300 \n")
	for _, row := range []struct {
		why       string
		arguments map[string]string
		variables map[string]string
		file      []byte
		want      int
	}{
		{"nothing is set", nil, nil, nil, 1400},
		{"the file", nil, nil, file, 1300},
		{"a variable", nil, map[string]string{"OVN_MTU": "1350"}, file, 1350},
		{"an empty variable is none", nil, map[string]string{"OVN_MTU": ""}, file, 1300},
		{"an argument", map[string]string{"mtu": "8900"}, map[string]string{"OVN_MTU": "1350"}, file, 8900},
	} {
		if c, err := config.Load(row.arguments, variables(row.variables), row.file); err != nil || c.MTU != row.want {
			t.Errorf("%s: MTU %d, %v; want %d", row.why, c.MTU, err, row.want)
		}
	}
}

func TestEnvironmentOfContainersIsSufficient(t *testing.T) {
	c, err := config.Load(nil, variables(map[string]string{
		"K8S_NODE": "a", "K8S_NODE_IP": "192.0.2.1", "K8S_APISERVER": "https://api.test:6443", "OVN_NORTH": "unix:/var/run/ovn/ovnnb_db.sock",
		"OVN_SOUTH": "ssl:192.0.2.1:6642,ssl:[2001:db8::1]:6642", "OVN_NET_CIDR": "10.128.0.0/14/23,fd01::/48/64", "OVN_SVC_CIDR": "172.30.0.0/16,fd02::/112",
		"OVN_MTU": "1400", "OVN_ENCAP_PORT": "6081", "OVN_GATEWAY_MODE": "local", "OVNKUBE_LOGLEVEL": "debug", "OVNKUBE_HEALTH_ADDR": "127.0.0.1:19105",
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		APIServer: "https://api.test:6443", South: "ssl:192.0.2.1:6642,ssl:[2001:db8::1]:6642",
		Pools:    []config.Pool{{CIDR: netip.MustParsePrefix("10.128.0.0/14"), BlockLength: 23}, {CIDR: netip.MustParsePrefix("fd01::/48"), BlockLength: 64}},
		Services: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/16"), netip.MustParsePrefix("fd02::/112")},
		MTU:      1400, NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, TunnelAddress: netip.MustParseAddr("192.0.2.1"), TunnelPort: 6081, LogLevel: "debug", Health: "127.0.0.1:19105",
		PrivateKey: "/ovn-cert/tls.key", Certificate: "/ovn-cert/tls.crt", CA: "/ovn-ca/ca-bundle.crt", Datapath: config.DatapathAuto, Probe: 100 * time.Second,
		IPsec: config.IPsec{ConfigDir: "/etc/ovn-ipsec", CA: "/signer-ca/ca-bundle.crt", RunDir: "/run/ovn-ipsec", Charon: "/usr/lib/ipsec/charon"},
		Directories: config.Directories{
			SwitchRun: "/var/run/openvswitch", SwitchData: "/var/lib/openvswitch", Run: "/var/run/ovn", Data: "/var/lib/ovn", Server: "/var/run/ovn-kubernetes",
			State: "/var/lib/cno/ovn-kubernetes", PluginConf: "/etc/cni/net.d", Plugins: "/host/opt/cni/bin", SwitchNamespace: "ovs", NetworkFlows: "/etc/ovn-network-flows/network-flows.json", MTU: "/etc/ovn-mtu/mtu.json", PolicyAudit: "/etc/ovn-policy-audit/policy-audit.json", AuditLog: "/var/log/ovn/acl-audit-log.log", ProcSys: "/proc/sys",
		},
	}
	if diff := cmp.Diff(want, c, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	for name, err := range map[string]error{"node": c.CheckNode(), "master": c.CheckMaster()} {
		if err != nil {
			t.Errorf("a %s lacks %v", name, err)
		}
	}
}

func TestAllInvalidSettingsAreNamed(t *testing.T) {
	for _, row := range []struct {
		why, flag, value, want string
	}{
		{"not a number", "mtu", "big", `--mtu: "big" must be a number from 576 to 65535`},
		{"too small for IPv4", "mtu", "500", `must be a number from 576`},
		{"host bits", "cluster-subnets", "10.128.0.1/14/23", "has host bits; write 10.128.0.0/14"},
		{"no CIDR", "cluster-subnets", "10.128.0.0", "such as 10.128.0.0/14/23"},
		{"a block that is larger than its pool", "cluster-subnets", "10.128.0.0/14/12", "it must be from 14 to 29"},
		{"a block without room for a pod", "cluster-subnets", "10.128.0.0/14/30", "it must be from 14 to 29"},
		{"a service CIDR", "k8s-service-cidrs", "x", "is not a CIDR"},
		{"a host name would be resolved at each connection", "sb-address", "ssl:master:6642", "must be unix:PATH, tcp:IP:PORT or ssl:IP:PORT"},
		{"a relative path", "sb-address", "unix:db.sock", "must be unix:PATH"},
		{"another northbound database", "nb-address", "tcp:10.0.0.1:6641", `--nb-address: "tcp:10.0.0.1:6641" is not the northbound database of this node, and a master uses no other one; write unix:/var/run/ovn/ovnnb_db.sock, or leave it out`},
		{"a list that begins with the node's own", "nb-address", "unix:/var/run/ovn/ovnnb_db.sock,tcp:10.0.0.1:6641", "is not the northbound database of this node"},
		{"another kind of tunnel", "encap-type", "vxlan", `"vxlan" is not one of geneve`},
		{"the other gateway mode", "gateway-mode", "shared", `"shared" is not one of local`},
		{"a level", "loglevel", "all", "is not one of debug, info, warn, error"},
		{"an address without a port", "health-address", "127.0.0.1", "must be an IP address and a port"},
		{"a relative directory", "state-dir", "state", "must be an absolute path"},
		{"a path as a namespace", "ovs-namespace", "../x", "is not the name of a network namespace"},
		{"an address", "encap-ip", "node", "is not an IP address"},
		{"the second address", "encap-ip", "192.0.2.1,node", `"node" is not an IP address`},
		{"a controller alone", "net-controller", "true", "--net-controller needs --init-master"},
	} {
		_, err := config.Load(map[string]string{row.flag: row.value}, variables(nil), nil)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: --%s %s: error %v, want %q", row.why, row.flag, row.value, err, row.want)
		}
	}
	_, err := config.Load(map[string]string{"mtu": "x"}, variables(map[string]string{"OVN_ENCAP_PORT": "y", "OVN_NORTH": "ssl:192.0.2.1:6641"}), []byte("[ovnsouth]\naddress=z\n[x]\ny=z\n[default]\nconntrack-zone=64000\nrubbish\nmtu=1\nmtu=2\n"))
	for _, want := range []string{
		"--mtu", "variable OVN_ENCAP_PORT", `variable OVN_NORTH: "ssl:192.0.2.1:6641" is not`, "key ovnsouth.address", "key x.y is not known", "ovn_k8s.conf, key default.conntrack-zone is not supported: Open vSwitch shares no",
		`line 7: "rubbish"`, "line 9: key default.mtu is set twice",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %q", err, want)
		}
	}
}

func TestSettingsWithoutEffectAreRefusedWithTheReason(t *testing.T) {
	for _, row := range []struct {
		why, variable, value, file, want string
	}{
		{"the version of the DaemonSets whose processes these are", "OVN_DAEMONSET_VERSION", "3", "", ""},
		{"all processes in one container", "OVN_DAEMONSET_VERSION", "2", "", "variable OVN_DAEMONSET_VERSION is not supported: containers run one process each"},
		{"arguments of a daemon, which would be ignored", "OVN_NORTHD_OPTS", "--dry-run", "", "variable OVN_NORTHD_OPTS is not supported: the network defines the arguments of daemons"},
		{"an empty variable is none", "OVN_NORTHD_OPTS", "", "", ""},
		{"a level of a daemon", "OVN_LOG_SB", "-vconsole:dbg", "", "vlog/set of ovn-appctl"},
		{"a user that is not that of the container", "OVS_USER_ID", "openvswitch:openvswitch", "", "variable OVS_USER_ID is not supported"},
		{"a master that is not elected", "OVN_MASTER", "node1", "", "masters elect a leader"},
		{"another plugin", "", "", "[cni]\nplugin=other\n", "key cni.plugin is not supported: the plugin is always ovn-k8s-cni-overlay"},
		{"TLS of the northbound database", "", "", "[ovnnorth]\nclient-cert=/a\n", "key ovnnorth.client-cert is not supported: each master uses"},
		{"a certificate of the server alone", "", "", "[ovnsouth]\nserver-cert=/a\n", "key ovnsouth.server-cert is not supported: servers and clients"},
	} {
		_, err := config.Load(nil, variables(map[string]string{row.variable: row.value}), []byte(row.file))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", row.why, err, row.want)
		}
	}
}

func TestTheNorthboundDatabaseIsTheNodes(t *testing.T) {
	for _, row := range []struct {
		why, value, directory string
		valid                 bool
	}{
		{"left out, with another directory", "", "/run/b", true},
		{"the default, written out", "unix:/var/run/ovn/ovnnb_db.sock", "", true},
		{"in the given directory", "unix:/run/b/ovnnb_db.sock", "/run/b", true},
		{"in the default directory, while another one is given", "unix:/var/run/ovn/ovnnb_db.sock", "/run/b", false},
	} {
		_, err := config.Load(map[string]string{"nb-address": row.value, "ovn-run-dir": row.directory}, variables(nil), nil)
		if (err == nil) != row.valid {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

func TestMissingSettingsAreNamedForARole(t *testing.T) {
	var c config.Config
	want := "settings are missing: cluster-subnets (OVN_NET_CIDR), encap-ip (K8S_NODE_IP), mtu (OVN_MTU), sb-address (OVN_SOUTH); set the flag --NAME or the variable in brackets"
	if err := c.CheckNode(); err == nil || err.Error() != want {
		t.Errorf("a node: %v", err)
	}
	if err := c.CheckMaster(); err == nil || !strings.Contains(err.Error(), "k8s-service-cidrs (OVN_SVC_CIDR)") {
		t.Errorf("a master: %v", err)
	}
}

func TestTunnelsUseTheFamilyOfTheFirstPool(t *testing.T) {
	const four, six, both = "10.128.0.0/14/23", "fd01::/48/64", "192.0.2.1,2001:db8::1"
	for _, row := range []struct {
		why, pools, addresses, want, missing string
	}{
		{"IPv4", four, "192.0.2.1", "192.0.2.1", ""},
		{"IPv6", six, "2001:db8::1", "2001:db8::1", ""},
		{"IPv4 first, on a node whose first address is of IPv6", four + "," + six, "2001:db8::1,192.0.2.1", "192.0.2.1", ""},
		{"IPv6 first, on a node whose first address is of IPv4", six + "," + four, both, "2001:db8::1", ""},
		{"IPv6 alone, on a node with both", six, both, "2001:db8::1", ""},
		{"no pools, which cleanup does not need", "", both, "192.0.2.1", ""},
		{"a node without the family", six + "," + four, "192.0.2.1", "invalid IP", "encap-ip (K8S_NODE_IP) with an IPv6 address, the family of the first pool"},
		{"a node without IPv4", four, "2001:db8::1", "invalid IP", "encap-ip (K8S_NODE_IP) with an IPv4 address, the family of the first pool"},
	} {
		c, err := config.Load(nil, variables(map[string]string{"OVN_NET_CIDR": row.pools, "K8S_NODE_IP": row.addresses}), nil)
		if err != nil || c.TunnelAddress.String() != row.want {
			t.Errorf("%s: %s, %v; want %s", row.why, c.TunnelAddress, err, row.want)
		}
		for role, err := range map[string]error{"node": c.CheckNode(), "master": c.CheckMaster(), "IPsec": c.CheckIPsec()} {
			if named := err != nil && strings.Contains(err.Error(), "encap-ip"); named != (row.missing != "") || named && !strings.Contains(err.Error(), row.missing) {
				t.Errorf("%s: %s: %v, want %q", row.why, role, err, row.missing)
			}
		}
	}
}

func TestNotationsOfEarlyVersions(t *testing.T) {
	c, err := config.Load(map[string]string{"sb-address": "tcp://192.0.2.1:6642", "loglevel": "5", "cluster-subnets": "10.128.0.0/14"}, variables(nil), nil)
	if err != nil || c.South != "tcp:192.0.2.1:6642" || c.LogLevel != "debug" || c.Pools[0].BlockLength != 24 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTheImagesFileIsValid(t *testing.T) {
	content, err := os.ReadFile("../../../images/ovn/ovn_k8s.conf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(nil, variables(nil), content); err != nil {
		t.Error(err)
	}
}

func TestTheDocumentationHasEverySetting(t *testing.T) {
	content, err := os.ReadFile("../../../docs/programs/ovnkube.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Settings() {
		line := "| `--" + s.Flag + "` |"
		if s.Variable != "" {
			line += " `" + s.Variable + "` |"
		} else {
			line += " |"
		}
		if s.Key != "" {
			line += " `[" + s.Section + "] " + s.Key + "` |"
		} else {
			line += " |"
		}
		if !strings.Contains(string(content), line) {
			t.Errorf("docs/programs/ovnkube.md has no row that begins with %s", line)
		}
	}
	for _, r := range config.Refused() {
		if row := "| `" + strings.Join(r.Names(), "`, `") + "` | " + r.Reason + " |\n"; !strings.Contains(string(content), row) {
			t.Errorf("docs/programs/ovnkube.md lacks the row\n%s", row)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("[default]\nmtu=1400\n", "10.128.0.0/14/23", "ssl:192.0.2.1:6642")
	f.Add("=", "//", ":")
	f.Add("[", ",", "unix:")
	f.Fuzz(func(_ *testing.T, file, pools, south string) {
		_, _ = config.Load(map[string]string{"cluster-subnets": pools, "sb-address": south}, variables(nil), []byte(file)) // it must not panic
	})
}

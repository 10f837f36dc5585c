package flannel

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

func equal(a, b *operatorv1.NetworkSpec) bool { return reflect.DeepEqual(a, b) }

// filled is what an empty specification becomes.
func filled() *operatorv1.FlannelConfig {
	return &operatorv1.FlannelConfig{
		Backend: "host-gw", MTU: new(uint32(1500)),
		Etcd: &operatorv1.FlannelEtcd{Prefix: "/coreos.com/network", Managed: &operatorv1.FlannelManagedEtcd{
			ClientPort: new(uint32(12379)), PeerPort: new(uint32(12380)), DataDir: "/var/lib/cno/flannel-etcd",
		}},
	}
}

func TestDefaults(t *testing.T) {
	vxlan := func(c *operatorv1.FlannelConfig) { c.Backend = "vxlan" }
	everything := network(func(c *operatorv1.FlannelConfig) {
		*c = *filled()
		c.Backend, c.MTU, c.Interface = "vxlan", new(uint32(1400)), "eth1"
		c.VXLAN = &operatorv1.FlannelVXLAN{VNI: new(uint32(7)), Port: new(uint32(4789))}
		c.Etcd.Prefix, c.Etcd.Managed.PeerPort = "/other", new(uint32(7001))
	})
	for _, tc := range []struct {
		why        string
		spec, prev *operatorv1.NetworkSpec
		hostMTU    int
		want       func(*operatorv1.FlannelConfig)
	}{
		{"nothing set", network(nil), nil, 1500, func(*operatorv1.FlannelConfig) {}},
		{"no block", &operatorv1.NetworkSpec{}, nil, 1500, func(*operatorv1.FlannelConfig) {}},
		{"jumbo frames", network(nil), nil, 9000, func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(9000)) }},
		{"the loopback's MTU is more than a packet can be", network(nil), nil, 65536, func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(65535)) }},
		{"vxlan takes 50 bytes", network(vxlan), nil, 1500, func(c *operatorv1.FlannelConfig) {
			c.Backend, c.MTU, c.VXLAN = "vxlan", new(uint32(1450)), &operatorv1.FlannelVXLAN{VNI: new(uint32(1)), Port: new(uint32(8472))}
		}},
		{"the nodes' MTU is not known yet: the pipeline waits", network(nil), nil, 0, func(c *operatorv1.FlannelConfig) { c.MTU = nil }},
		{"what was computed once stays", network(nil), network(func(c *operatorv1.FlannelConfig) { *c = *filled() }), 9000, func(*operatorv1.FlannelConfig) {}},
		{"leaving everything out changes nothing", network(nil), everything, 9000, func(c *operatorv1.FlannelConfig) { *c = *everything.DefaultNetwork.FlannelConfig }},
		{"an external etcd is not replaced by leaving it out", network(nil), network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1"}})), 1500,
			func(c *operatorv1.FlannelConfig) {
				c.Etcd = &operatorv1.FlannelEtcd{Prefix: "/coreos.com/network", External: &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1"}}}
			}},
	} {
		want := filled()
		tc.want(want)
		got := Flannel{}.Default(tc.spec, tc.prev, facts.Cluster{HostMTU: tc.hostMTU})
		if diff := cmp.Diff(want, got.DefaultNetwork.FlannelConfig); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.why, diff)
		}
	}
}

func TestDefaultSharesNoMemoryWithItsInput(t *testing.T) {
	prev := network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1"}}))
	got := Flannel{}.Default(network(nil), prev, facts.Cluster{HostMTU: 1500})
	got.DefaultNetwork.FlannelConfig.Etcd.External.Endpoints[0] = "changed"
	if prev.DefaultNetwork.FlannelConfig.Etcd.External.Endpoints[0] != "http://a:1" {
		t.Error("changing the result changed what was applied before")
	}
}

func TestAnotherBackendKeepsTheMTUAsFarAsItFits(t *testing.T) {
	mtu := func(backend operatorv1.FlannelBackend, value uint32) *operatorv1.NetworkSpec {
		return network(func(c *operatorv1.FlannelConfig) { c.Backend, c.MTU = backend, &value })
	}
	for _, tc := range []struct {
		why  string
		prev *operatorv1.NetworkSpec
		next operatorv1.FlannelBackend
		host int
		want uint32
	}{
		{"room for the header is made", mtu("host-gw", 1500), "vxlan", 1500, 1450},
		{"a smaller one stays", mtu("host-gw", 1400), "vxlan", 1500, 1400},
		{"it does not grow automatically", mtu("vxlan", 1450), "host-gw", 1500, 1450},
	} {
		got := Flannel{}.Default(network(func(c *operatorv1.FlannelConfig) { c.Backend = tc.next }), tc.prev, facts.Cluster{HostMTU: tc.host})
		if m := got.DefaultNetwork.FlannelConfig.MTU; m == nil || *m != tc.want {
			t.Errorf("%s: %v, want %d", tc.why, m, tc.want)
		}
	}
}

func TestCheckChange(t *testing.T) {
	const config = "spec.defaultNetwork.flannelConfig."
	tls := func(endpoints ...string) func(*operatorv1.FlannelConfig) {
		return external(operatorv1.FlannelExternalEtcd{Endpoints: endpoints, CAConfigMap: "ca", ClientCertificateSecret: "client"})
	}
	vxlan := func(vni, port uint32) func(*operatorv1.FlannelConfig) {
		return func(c *operatorv1.FlannelConfig) {
			c.Backend, c.VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: &vni, Port: &port}
		}
	}
	managed := func(change func(*operatorv1.FlannelManagedEtcd)) func(*operatorv1.FlannelConfig) {
		m := &operatorv1.FlannelManagedEtcd{}
		change(m)
		return etcd(operatorv1.FlannelEtcd{Managed: m})
	}
	for _, tc := range []struct {
		why           string
		prev, next    func(*operatorv1.FlannelConfig)
		field         string // empty: safe
		rule, message string
	}{
		{"no change", nil, nil, "", "", ""},
		{"members of an external etcd come and go", tls("https://a:1"), tls("https://b:1", "https://c:1"), "", "", ""},
		{"CAs and certificates are renewed", tls("https://a:1"), func(c *operatorv1.FlannelConfig) {
			tls("https://a:1")(c)
			c.Etcd.External.CAConfigMap, c.Etcd.External.ClientCertificateSecret = "ca2", "client2"
		}, "", "", ""},
		{"the block is left out", vxlan(7, 4789), nil, "backend", "flannel-backend-change", "cannot change the flannel backend"},
		{"MTU", nil, func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(1400)) }, "mtu", "flannel-mtu-change", "cannot change flannel MTU without migration (spec.migration.mtu)"},
		{"VNI", vxlan(1, 8472), vxlan(2, 8472), "vxlan.vni", "flannel-vxlan-vni-change", "network identifier"},
		{"VXLAN port", vxlan(1, 8472), vxlan(1, 4789), "vxlan.port", "flannel-vxlan-port-change", "VXLAN port"},
		{"interface", nil, func(c *operatorv1.FlannelConfig) { c.Interface = "eth1" }, "interface", "flannel-interface-change", "interface of pod traffic"},
		{"managed to external", nil, tls("https://a:1"), "etcd.external", "flannel-etcd-change", "cannot change flannel's etcd from managed to external"},
		{"external to managed", tls("https://a:1"), managed(func(*operatorv1.FlannelManagedEtcd) {}), "etcd.managed", "flannel-etcd-change", "cannot change flannel's etcd from external to managed"},
		{"prefix", nil, etcd(operatorv1.FlannelEtcd{Prefix: "/x"}), "etcd.prefix", "flannel-etcd-prefix-change", "kept under the old prefix"},
		{"client port", nil, managed(func(m *operatorv1.FlannelManagedEtcd) { m.ClientPort = new(uint32(1)) }), "etcd.managed.clientPort", "flannel-etcd-client-port-change", "client port"},
		{"peer port", nil, managed(func(m *operatorv1.FlannelManagedEtcd) { m.PeerPort = new(uint32(1)) }), "etcd.managed.peerPort", "flannel-etcd-peer-port-change", "peer port"},
		{"directory", nil, managed(func(m *operatorv1.FlannelManagedEtcd) { m.DataDir = "/x" }), "etcd.managed.dataDir", "flannel-etcd-data-dir-change", "without their data"},
	} {
		prev := Flannel{}.Default(network(tc.prev), nil, facts.Cluster{HostMTU: 1500})
		next := Flannel{}.Default(network(tc.next), nil, facts.Cluster{HostMTU: 1500})
		if strings.HasPrefix(tc.field, "backend") { // the MTU follows the backend when nothing is carried forward
			next.DefaultNetwork.FlannelConfig.MTU = prev.DefaultNetwork.FlannelConfig.MTU
		}
		errs := Flannel{}.CheckChange(prev, next)
		if tc.field == "" {
			if len(errs) > 0 {
				t.Errorf("%s: %v", tc.why, errs.ToAggregate())
			}
			continue
		}
		if len(errs) != 1 || errs[0].Field != config+tc.field || errs[0].Origin != tc.rule ||
			!strings.Contains(errs[0].Detail, tc.message) || !strings.Contains(errs[0].Detail, "put the old value back") {
			t.Errorf("%s: %v, want one error for %s by rule %s with %q", tc.why, errs.ToAggregate(), tc.field, tc.rule, tc.message)
		}
	}
}

package flannel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

func network(change func(*operatorv1.FlannelConfig)) *operatorv1.NetworkSpec {
	spec := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel, FlannelConfig: &operatorv1.FlannelConfig{}},
	}
	if change != nil {
		change(spec.DefaultNetwork.FlannelConfig)
	}
	return spec
}

func etcd(e operatorv1.FlannelEtcd) func(*operatorv1.FlannelConfig) {
	return func(c *operatorv1.FlannelConfig) { c.Etcd = &e }
}

func external(e operatorv1.FlannelExternalEtcd) func(*operatorv1.FlannelConfig) {
	return etcd(operatorv1.FlannelEtcd{External: &e})
}

func TestValidateAcceptsWhatCanBeInstalled(t *testing.T) {
	for name, spec := range map[string]*operatorv1.NetworkSpec{
		"nothing set":          network(nil),
		"no block at all":      {ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.0.0.0/16", HostPrefix: 24}}},
		"the smallest network": {ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.0.0.0/28", HostPrefix: 30}}},
		"vxlan with all settings": network(func(c *operatorv1.FlannelConfig) {
			c.Backend, c.VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: new(uint32(maxVNI)), Port: new(uint32(65535))}
		}),
		"extremes of the MTU":                      network(func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(minMTU)) }),
		"an interface's name with dots and dashes": network(func(c *operatorv1.FlannelConfig) { c.Interface = "bond0.4094-x_y@" }),
		"plain etcd":                               network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://etcd.example:2379"}})),
		"TLS":                                      network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"https://[2001:db8::1]:2379"}, CAConfigMap: "ca", ClientCertificateSecret: "client"})),
		"other ports and directory":                network(etcd(operatorv1.FlannelEtcd{Prefix: "/a/b", Managed: &operatorv1.FlannelManagedEtcd{ClientPort: new(uint32(4001)), PeerPort: new(uint32(7001)), DataDir: "/srv/etcd"}})),
		"pools that other rules check":             {ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "x", HostPrefix: 99}}},
	} {
		if errs := (Flannel{}).Validate(spec); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
	}
	if errs := (Flannel{}).Validate(nil); len(errs) > 0 {
		t.Errorf("nil: %v", errs)
	}
}

func TestValidateNamesFieldRuleAndWayOut(t *testing.T) {
	const config = "spec.defaultNetwork.flannelConfig."
	pool := func(cidr string, length uint32) *operatorv1.NetworkSpec {
		return &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: cidr, HostPrefix: length}}}
	}
	managed := func(m operatorv1.FlannelManagedEtcd) *operatorv1.NetworkSpec {
		return network(etcd(operatorv1.FlannelEtcd{Managed: &m}))
	}
	for _, tc := range []struct {
		why     string
		spec    *operatorv1.NetworkSpec
		field   string
		rule    string
		message string
	}{
		{"flannel's own lower limit", pool("10.0.0.0/29", 30), "spec.clusterNetwork[0].cidr", "flannel-network-size", "at least a /28"},
		{"one block for all nodes is fine for others, not for flannel", pool("10.0.0.0/16", 17), "spec.clusterNetwork[0].hostPrefix", "flannel-host-prefix", "between 18 and 30"},
		{"a backend of flannel that is not offered", network(func(c *operatorv1.FlannelConfig) { c.Backend = "udp" }), config + "backend", "flannel-backend", "use host-gw"},
		{"a block that would have no effect", network(func(c *operatorv1.FlannelConfig) { c.VXLAN = &operatorv1.FlannelVXLAN{} }), config + "vxlan", "flannel-vxlan-block", "the backend is host-gw"},
		{"24 bits", network(func(c *operatorv1.FlannelConfig) {
			c.Backend, c.VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: new(uint32(maxVNI + 1))}
		}), config + "vxlan.vni", "flannel-vxlan-vni-range", "1 to 16777215"},
		{"port 0 means any", network(func(c *operatorv1.FlannelConfig) {
			c.Backend, c.VXLAN = "vxlan", &operatorv1.FlannelVXLAN{Port: new(uint32(0))}
		}), config + "vxlan.port", "flannel-vxlan-port-range", "1 to 65535"},
		{"below what IPv4 needs", network(func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(575)) }), config + "mtu", "flannel-mtu-range", "576 to 65535"},
		{"above what a packet can be", network(func(c *operatorv1.FlannelConfig) { c.MTU = new(uint32(65536)) }), config + "mtu", "flannel-mtu-range", "left out"},
		{"16 letters", network(func(c *operatorv1.FlannelConfig) { c.Interface = "abcdefghijklmnop" }), config + "interface", "flannel-interface-name", "at most 15"},
		{"a path", network(func(c *operatorv1.FlannelConfig) { c.Interface = "../eth0" }), config + "interface", "flannel-interface-name", "ASCII letters"},
		{"the loopback interface", network(func(c *operatorv1.FlannelConfig) { c.Interface = "lo" }), config + "interface", "flannel-interface-name", "loopback interface"},
		{"a pattern", network(func(c *operatorv1.FlannelConfig) { c.Interface = "eth.*" }), config + "interface", "flannel-interface-name", "patterns are not supported"},
		{"what a program takes for a flag", network(func(c *operatorv1.FlannelConfig) { c.Interface = "-x" }), config + "interface", "flannel-interface-name", "not beginning with"},
		{"a no-break space", network(func(c *operatorv1.FlannelConfig) { c.Interface = "eth\u00a00" }), config + "interface", "flannel-interface-name", "ASCII letters"},
		{"both kinds of etcd", network(etcd(operatorv1.FlannelEtcd{Managed: &operatorv1.FlannelManagedEtcd{}, External: &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1"}}})), config + "etcd", "flannel-etcd-one-of", "remove one"},
		{"no slash in front", network(etcd(operatorv1.FlannelEtcd{Prefix: "coreos.com"})), config + "etcd.prefix", "flannel-etcd-prefix", "begin with a slash"},
		{"a slash at the end", network(etcd(operatorv1.FlannelEtcd{Prefix: "/coreos.com/"})), config + "etcd.prefix", "flannel-etcd-prefix", "not end with one"},
		{"the API server's objects", network(etcd(operatorv1.FlannelEtcd{Prefix: "/registry"})), config + "etcd.prefix", "flannel-etcd-prefix", "the API server keeps its objects"},
		{"below them", network(etcd(operatorv1.FlannelEtcd{Prefix: "/registry/flannel"})), config + "etcd.prefix", "flannel-etcd-prefix", "choose another prefix"},
		{"letters that are not ASCII", network(etcd(operatorv1.FlannelEtcd{Prefix: "/netz/\u00fc"})), config + "etcd.prefix", "flannel-etcd-prefix", "ASCII letters"},
		{"a host that DNS does not have", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://etcd_1:2379"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "neither an IP address nor a DNS name"},
		{"a Service, whose name no node resolves", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://etcd.default.svc:2379"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "write the address of the member"},
		{"with the cluster's domain", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://etcd-0.Etcd.default.SVC.Cluster.Local:2379"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "a name of the cluster's DNS"},
		{"a line break", managed(operatorv1.FlannelManagedEtcd{DataDir: "/data\nx"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "has a line break"},
		{"the line separator of Unicode", managed(operatorv1.FlannelManagedEtcd{DataDir: "/data\u2028x"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "without it, e.g. /var/lib/cno/flannel-etcd"},
		{"the port of the SSH server", managed(operatorv1.FlannelManagedEtcd{ClientPort: new(uint32(22))}), config + "etcd.managed.clientPort", "flannel-etcd-port-collision", "the SSH server"},
		{"the operator's own port", managed(operatorv1.FlannelManagedEtcd{ClientPort: new(uint32(9104))}), config + "etcd.managed.clientPort", "flannel-etcd-port-collision", "this operator"},
		{"the data of the cluster's etcd", managed(operatorv1.FlannelManagedEtcd{DataDir: "/var/lib/etcd"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "shares /var/lib/etcd"},
		{"the configuration of the cluster", managed(operatorv1.FlannelManagedEtcd{DataDir: "/etc/kubernetes"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "shares /etc"},
		{"above them", managed(operatorv1.FlannelManagedEtcd{DataDir: "/var/lib"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "a separate directory"},
		{"no one to ask", network(external(operatorv1.FlannelExternalEtcd{})), config + "etcd.external.endpoints", "flannel-etcd-endpoints-required", "https://192.0.2.10:2379"},
		{"no scheme", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"192.0.2.1:2379"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "write scheme, host and port"},
		{"no port", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "write scheme, host and port"},
		{"a path", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1/v3"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "write scheme, host and port"},
		{"another protocol", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"unix://a:1"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-endpoint", "e.g. https://192.0.2.10:2379"},
		{"a password in a ConfigMap", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://u:p@a:1"}})), config + "etcd.external.endpoints[0]", "flannel-etcd-credentials", "use clientCertificateSecret"},
		{"the same twice", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1", "http://a:1"}})), config + "etcd.external.endpoints[1]", "flannel-etcd-endpoint", "named twice"},
		{"half of it readable by all", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1", "https://b:1"}, CAConfigMap: "ca", ClientCertificateSecret: "client"})), config + "etcd.external.endpoints", "flannel-etcd-schemes", "one scheme"},
		{"TLS without verification", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"https://a:1"}, ClientCertificateSecret: "client"})), config + "etcd.external.caConfigMap", "flannel-etcd-tls", "ca-bundle.crt"},
		{"TLS without a certificate of the client", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"https://a:1"}, CAConfigMap: "ca"})), config + "etcd.external.clientCertificateSecret", "flannel-etcd-tls", "kubernetes.io/tls"},
		{"a certificate that no one is shown", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://a:1"}, ClientCertificateSecret: "c"})), config + "etcd.external.clientCertificateSecret", "flannel-etcd-tls", "no effect"},
		{"not a name", network(external(operatorv1.FlannelExternalEtcd{Endpoints: []string{"https://a:1"}, CAConfigMap: "CA!", ClientCertificateSecret: "client"})), config + "etcd.external.caConfigMap", "flannel-etcd-object-name", "lower-case"},
		{"one port for both", managed(operatorv1.FlannelManagedEtcd{ClientPort: new(uint32(defaultPeerPort))}), config + "etcd.managed.peerPort", "flannel-etcd-port-collision", "two different"},
		{"the cluster's own etcd", managed(operatorv1.FlannelManagedEtcd{PeerPort: new(uint32(2380))}), config + "etcd.managed.peerPort", "flannel-etcd-port-collision", "the etcd of the cluster itself"},
		{"no port at all", managed(operatorv1.FlannelManagedEtcd{ClientPort: new(uint32(70000))}), config + "etcd.managed.clientPort", "flannel-etcd-port-range", "1 to 65535"},
		{"the whole disk", managed(operatorv1.FlannelManagedEtcd{DataDir: "/"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "absolute path"},
		{"a way out of the directory", managed(operatorv1.FlannelManagedEtcd{DataDir: "/var/../etc"}), config + "etcd.managed.dataDir", "flannel-etcd-data-dir", "shortest form"},
	} {
		errs := (Flannel{}).Validate(tc.spec)
		if len(errs) != 1 || errs[0].Field != tc.field || errs[0].Origin != tc.rule || !strings.Contains(errs[0].Detail, tc.message) {
			t.Errorf("%s: %v, want one error for %s by rule %s with %q", tc.why, errs.ToAggregate(), tc.field, tc.rule, tc.message)
		}
	}
}

func TestValidateReportsEverythingAtOnce(t *testing.T) {
	spec := network(func(c *operatorv1.FlannelConfig) {
		c.Backend, c.MTU, c.Interface = "udp", new(uint32(1)), "a b"
		c.VXLAN = &operatorv1.FlannelVXLAN{VNI: new(uint32(0)), Port: new(uint32(0))}
		c.Etcd = &operatorv1.FlannelEtcd{Prefix: "x", External: &operatorv1.FlannelExternalEtcd{}, Managed: &operatorv1.FlannelManagedEtcd{DataDir: "x"}}
	})
	spec.ClusterNetwork[0] = operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/30", HostPrefix: 30}
	if errs := (Flannel{}).Validate(spec); len(errs) != 11 {
		t.Errorf("%d errors, want 11: %v", len(errs), errs.ToAggregate())
	}
}

// FuzzSpec holds that nothing a user writes makes the provider panic, that defaults are valid where the input is, and
// that filling in defaults twice is filling them in once, which leaves its input alone.
func FuzzSpec(f *testing.F) {
	f.Add(uint64(1), "10.128.0.0/14", "https://192.0.2.1:2379", "/p")
	f.Add(uint64(7), "fd00::/48", "http://u:p@[::1%25eth0]:0", "//")
	f.Fuzz(func(t *testing.T, seed uint64, cidr, endpoint, path string) {
		spec, prev := randomSpec(seed, cidr, endpoint, path), randomSpec(seed>>1, cidr, endpoint, path)
		cluster := facts.Cluster{HostMTU: int(seed % 70000)}
		before := fmt.Sprint(*spec, *settings(spec))
		valid := len(Flannel{}.Validate(spec)) == 0
		once := Flannel{}.Default(spec, nil, cluster)
		if fmt.Sprint(*spec, *settings(spec)) != before {
			t.Error("the input was changed")
		}
		if twice := (Flannel{}).Default(once, once, facts.Cluster{}); !equal(once, twice) {
			t.Errorf("filling in twice changes %+v to %+v", settings(once), settings(twice))
		}
		if errs := (Flannel{}).CheckChange(once, once); len(errs) > 0 {
			t.Errorf("no change is refused: %v", errs)
		}
		if errs := (Flannel{}).Validate(once); valid && len(errs) > 0 {
			t.Errorf("valid, but not with its defaults: %v", errs.ToAggregate())
		}
		Flannel{}.CheckChange(prev, spec)
		_, _ = observed{}.Render(once, facts.Cluster{Images: facts.Images{"FLANNEL_IMAGE": "a", "ETCD_IMAGE": "b"}})
	})
}

func randomSpec(seed uint64, cidr, endpoint, path string) *operatorv1.NetworkSpec {
	r := rand.New(rand.NewPCG(seed, 0))
	number := func(most uint32) *uint32 {
		if r.IntN(3) == 0 {
			return nil
		}
		return new(r.Uint32N(most))
	}
	spec := network(nil)
	spec.ClusterNetwork = slices.Repeat([]operatorv1.ClusterNetworkEntry{{CIDR: cidr, HostPrefix: r.Uint32N(40)}}, r.IntN(3))
	if r.IntN(8) == 0 {
		spec.DefaultNetwork.FlannelConfig = nil
		return spec
	}
	c := spec.DefaultNetwork.FlannelConfig
	c.Backend = []operatorv1.FlannelBackend{"", "host-gw", "vxlan", "udp"}[r.IntN(4)]
	c.MTU, c.Interface = number(70000), path
	if r.IntN(2) == 0 {
		c.VXLAN = &operatorv1.FlannelVXLAN{VNI: number(1 << 25), Port: number(70000)}
	}
	if r.IntN(2) == 0 {
		c.Etcd = &operatorv1.FlannelEtcd{Prefix: path}
		if r.IntN(2) == 0 {
			c.Etcd.External = &operatorv1.FlannelExternalEtcd{Endpoints: []string{endpoint, endpoint}, CAConfigMap: path}
		}
		if r.IntN(2) == 0 {
			c.Etcd.Managed = &operatorv1.FlannelManagedEtcd{ClientPort: number(70000), PeerPort: number(70000), DataDir: path}
		}
	}
	return spec
}

// Package randomedittest generates random edits of a network's specification, valid and invalid, safe and unsafe ones, so that
// tests can compare the decisions of the API server, the plan and the operator.
package randomedittest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// New returns the name of an edit of up to three changes, and the edit. It is deterministic for a seed.
func New(seed uint64) (string, func(*operatorv1.NetworkSpec)) {
	r := rand.New(rand.NewPCG(seed, 1))
	kinds := kinds()
	names := slices.Sorted(maps.Keys(kinds)) // sorted, so that the edit is deterministic
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+r.IntN(3)]
	return strings.Join(names, ", "), func(s *operatorv1.NetworkSpec) {
		again := rand.New(rand.NewPCG(seed, 2))
		for _, name := range names {
			kinds[name](s, again)
		}
	}
}

// kinds returns the changes of which edits consist.
func kinds() map[string]func(*operatorv1.NetworkSpec, *rand.Rand) {
	return map[string]func(*operatorv1.NetworkSpec, *rand.Rand){
		"log level": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.LogLevel = pick[osv1.LogLevel](r, "", "Debug", "Trace")
		},
		"state": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.ManagementState = pick[osv1.ManagementState](r, "Managed", "Unmanaged")
		},
		"kube-proxy": func(s *operatorv1.NetworkSpec, r *rand.Rand) { s.DeployKubeProxy = new(r.IntN(2) == 0) },
		"proxy sync": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
			s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "20s"}
		},
		"diagnostics": func(s *operatorv1.NetworkSpec, _ *rand.Rand) { s.DisableNetworkDiagnostics = true },
		"multi":       func(s *operatorv1.NetworkSpec, r *rand.Rand) { s.DisableMultiNetwork = new(r.IntN(2) == 0) },
		"cidr": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.ClusterNetwork[0].CIDR = pick(r, "10.244.0.0/16", "10.244.0.0/15", "10.244.0.0/17", "10.128.0.0/14")
		},
		"host prefix": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.ClusterNetwork[0].HostPrefix = pick[uint32](r, 23, 24, 25)
		},
		"second pool": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
			s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "10.10.0.0/16", HostPrefix: 24})
		},
		"services": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.ServiceNetwork = []string{pick(r, "10.96.0.0/16", "10.96.0.0/12", "172.30.0.0/16")}
		},
		"type": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.DefaultNetwork.Type = pick[operatorv1.NetworkType](r, "Flannel", "flannel", "Calico")
		},
		"backend": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			Flannel(s).Backend = pick[operatorv1.FlannelBackend](r, "", "host-gw", "vxlan")
		},
		"mtu": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			Flannel(s).MTU = pick(r, nil, new(uint32(1500)), new(uint32(1450)), new(uint32(1400)))
		},
		"interface": func(s *operatorv1.NetworkSpec, r *rand.Rand) { Flannel(s).Interface = pick(r, "", "eth0", "eth1") },
		"vni": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			Flannel(s).Backend, Flannel(s).VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: pick(r, nil, new(uint32(1)), new(uint32(7))), Port: pick(r, nil, new(uint32(4789)))}
		},
		"prefix": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			Etcd(s).Prefix = pick(r, "", "/coreos.com/network", "/other")
		},
		"managed": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			Etcd(s).Managed = &operatorv1.FlannelManagedEtcd{ClientPort: pick(r, nil, new(uint32(12379)), new(uint32(22379))), PeerPort: pick(r, nil, new(uint32(22380))), DataDir: pick(r, "", "/var/lib/other")}
		},
		"routing": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
			s.AdditionalRoutingCapabilities = &osv1.AdditionalRoutingCapabilities{Providers: []osv1.RoutingCapabilitiesProvider{"FRR"}}
		},
		"policies": func(s *operatorv1.NetworkSpec, r *rand.Rand) { s.UseMultiNetworkPolicy = new(r.IntN(2) == 0) },
		"proxy arguments": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: pick(r, "", "0.0.0.0"), ProxyArguments: pick(r, nil, map[string]osv1.ProxyArgumentList{"proxy-mode": {"iptables"}}, map[string]osv1.ProxyArgumentList{"metrics-port": {"29102"}})}
		},
		"migration": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{
				From: new(pick[uint32](r, 1500, 1450, 1400, 1300)), To: new(pick[uint32](r, 1500, 1450, 1400, 1300, 8000, 500)),
			}}}
		},
		"half a migration": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
			s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: pick(r, nil, &osv1.MTUMigrationValues{To: new(uint32(1400))})}}
		},
		"no migration": func(s *operatorv1.NetworkSpec, _ *rand.Rand) { s.Migration = nil },
		"external": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
			Etcd(s).External = &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://192.0.2.1:2379"}}
		},
	}
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Flannel returns the settings of flannel, which may be filled.
func Flannel(s *operatorv1.NetworkSpec) *operatorv1.FlannelConfig {
	if s.DefaultNetwork.FlannelConfig == nil {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	}
	return s.DefaultNetwork.FlannelConfig
}

// Etcd returns the settings of flannel's store, which may be filled.
func Etcd(s *operatorv1.NetworkSpec) *operatorv1.FlannelEtcd {
	if Flannel(s).Etcd == nil {
		Flannel(s).Etcd = &operatorv1.FlannelEtcd{}
	}
	return Flannel(s).Etcd
}

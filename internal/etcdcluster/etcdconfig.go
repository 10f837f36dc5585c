package etcdcluster

import (
	"fmt"
	"net/netip"

	"sigs.k8s.io/yaml"
)

// Quota is the maximum size of a member's database in bytes. Networks need some kilobytes for each node; the rest is for the history of an hour.
const Quota = 512 << 20

// Paths are the paths of a member's files.
type Paths struct {
	// Data is the parent of the member's data directory, TLS the directory with tls.crt, tls.key and ca.crt.
	Data, TLS string
	// MetricsURL is the URL of its probes.
	MetricsURL string
}

// PodPaths returns the paths inside the pods of members.
func (c Cluster) PodPaths() Paths {
	return Paths{Data: dataMount, TLS: c.mounts() + "/tls", MetricsURL: fmt.Sprintf("http://127.0.0.1:%d", c.MetricsPort)}
}

// dataMount is the mount path of the data directories.
const dataMount = "/var/lib/etcd"

// mounts returns the parent directory of all other mounts.
func (c Cluster) mounts() string { return "/etc/" + c.App }

// etcdConfig has the used keys of etcd's configuration file.
type etcdConfig struct {
	Name                    string       `json:"name"`
	DataDir                 string       `json:"data-dir"`
	ListenPeerURLs          string       `json:"listen-peer-urls"`
	ListenClientURLs        string       `json:"listen-client-urls"`
	ListenMetricsURLs       string       `json:"listen-metrics-urls"`
	AdvertisePeerURLs       string       `json:"initial-advertise-peer-urls"`
	AdvertiseClientURLs     string       `json:"advertise-client-urls"`
	InitialCluster          string       `json:"initial-cluster"`
	InitialClusterState     string       `json:"initial-cluster-state"`
	InitialClusterToken     string       `json:"initial-cluster-token"`
	StrictReconfigCheck     bool         `json:"strict-reconfig-check"`
	AutoCompactionMode      string       `json:"auto-compaction-mode"`
	AutoCompactionRetention string       `json:"auto-compaction-retention"`
	QuotaBackendBytes       int64        `json:"quota-backend-bytes"`
	EnableGRPCGateway       bool         `json:"enable-grpc-gateway"`
	ClientSecurity          etcdSecurity `json:"client-transport-security"`
	PeerSecurity            etcdSecurity `json:"peer-transport-security"`
	TLSMinVersion           string       `json:"tls-min-version"`
}

type etcdSecurity struct {
	CertFile      string `json:"cert-file"`
	KeyFile       string `json:"key-file"`
	ClientAuth    bool   `json:"client-cert-auth"`
	TrustedCAFile string `json:"trusted-ca-file"`
}

// EtcdConfig returns the configuration file of a member. The initial-cluster settings only apply while the member's directory is empty; afterwards etcd
// uses its data on disk.
func (m Membership) EtcdConfig(member Member, p Paths) (string, error) {
	if _, err := netip.ParseAddr(member.Address); err != nil {
		return "", fmt.Errorf("configure etcd member %s: %w", member.Name, err)
	}
	security := etcdSecurity{CertFile: p.TLS + "/tls.crt", KeyFile: p.TLS + "/tls.key", ClientAuth: true, TrustedCAFile: p.TLS + "/" + BundleKey}
	state, cluster := "existing", member.InitialCluster
	if member.State == New {
		state = "new"
	}
	if cluster == "" {
		// The first member has no others in its initial cluster. If it loses its disk in a cluster of several members, it cannot join with this
		// setting and stops, as it should.
		cluster = member.Name + "=" + member.PeerURL
	}
	out, err := yaml.Marshal(etcdConfig{
		Name: member.Name, DataDir: p.Data + "/" + member.Name,
		ListenPeerURLs: member.PeerURL, ListenClientURLs: member.ClientURL, ListenMetricsURLs: p.MetricsURL,
		AdvertisePeerURLs: member.PeerURL, AdvertiseClientURLs: member.ClientURL,
		InitialCluster: cluster, InitialClusterState: state, InitialClusterToken: m.Token,
		StrictReconfigCheck: true, AutoCompactionMode: "periodic", AutoCompactionRetention: "1h", QuotaBackendBytes: Quota,
		ClientSecurity: security, PeerSecurity: security, TLSMinVersion: "TLS1.2",
	})
	return string(out), err
}

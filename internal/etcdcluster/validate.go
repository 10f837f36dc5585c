package etcdcluster

import (
	"path"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
)

// ManagedFields are the settings of a managed etcd in the specification of a network.
type ManagedFields struct {
	// ClientPort and PeerPort are nil for the default.
	ClientPort, PeerPort *uint32
	// DataDir is the directory on the nodes that contains the data; empty for the default.
	DataDir string
}

// Rules has the network-specific parameters of the validation.
type Rules struct {
	// Path is the path of the etcd settings in the specification.
	Path *field.Path
	// Owner is the name of the network, which is the prefix of rule identifiers, as in "flannel".
	Owner string
	// Prefix is the default prefix of the network's keys.
	Prefix string
	// Defaults are the defaults of omitted settings; all fields are set.
	Defaults ManagedFields
	// MetricsPort is Cluster.MetricsPort.
	MetricsPort uint16
	// Ports maps ports that the network uses on control-plane nodes to the listener, as in "flannel's agent".
	Ports map[uint32]string
}

// Managed returns the errors in the settings of a managed etcd.
func (r Rules) Managed(m ManagedFields) field.ErrorList {
	at := r.Path.Child("managed")
	errs := append(r.port(at.Child("clientPort"), m.ClientPort), r.port(at.Child("peerPort"), m.PeerPort)...)
	clientPort, peerPort := *r.Defaults.ClientPort, *r.Defaults.PeerPort
	if m.ClientPort != nil {
		clientPort = *m.ClientPort
	}
	if m.PeerPort != nil {
		peerPort = *m.PeerPort
	}
	if clientPort == peerPort {
		errs = append(errs, rules.EtcdSamePorts.For(r.Owner).Invalid(at.Child("peerPort"), peerPort))
	}
	for _, p := range []struct {
		name string
		port uint32
	}{{"clientPort", clientPort}, {"peerPort", peerPort}} {
		if who := r.portOwner(p.port); who != "" {
			errs = append(errs, rules.EtcdPortTaken.For(r.Owner).Invalid(at.Child(p.name), p.port, who))
		}
	}
	return append(errs, r.directory(at.Child("dataDir"), m.DataDir)...)
}

func (r Rules) port(at *field.Path, port *uint32) field.ErrorList {
	if port == nil || *port >= 1 && *port <= 65535 {
		return nil
	}
	return field.ErrorList{rules.EtcdPort.For(r.Owner).Invalid(at, *port)}
}

func (r Rules) directory(at *field.Path, d string) field.ErrorList {
	switch {
	case d == "":
		return nil
	case strings.ContainsFunc(d, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) }):
		return field.ErrorList{rules.EtcdDataDirControl.For(r.Owner).Invalid(at, d, r.Defaults.DataDir)}
	case !path.IsAbs(d) || path.Clean(d) != d || d == "/" || strings.Contains(d, ":"):
		return field.ErrorList{rules.EtcdDataDir.For(r.Owner).Invalid(at, d, r.Defaults.DataDir)}
	}
	if owned := systemDirectory(d); owned != "" {
		return field.ErrorList{rules.EtcdDataDirTaken.For(r.Owner).Invalid(at, d, owned, r.Defaults.DataDir)}
	}
	return nil
}

// portOwner returns the listener of a port on control-plane nodes; empty for a free port.
func (r Rules) portOwner(port uint32) string {
	switch port {
	case 22:
		return "the SSH server"
	case 9104, 9105:
		return "this operator"
	case 17698:
		return "the sources of connectivity checks"
	case 29102, metricsproxy.KubeProxyPort:
		return "kube-proxy's metrics"
	case 2379, 2380, 2381:
		return "the etcd of the cluster itself"
	case 6443:
		return "the API server"
	case 10248, 10250:
		return "the kubelet"
	case 10249, 10256:
		return "kube-proxy"
	case 10257:
		return "the controller manager"
	case 10259:
		return "the scheduler"
	case uint32(r.MetricsPort), metricsproxy.EtcdPort:
		return "the probes and the metrics of the managed etcd"
	}
	return r.Ports[port]
}

// systemDirectories are directories on nodes that belong to other software.
var systemDirectories = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/var/lib/cni", "/var/lib/containerd", "/var/lib/containers", "/var/lib/etcd", "/var/lib/kubelet", "/var/log", "/var/run",
}

// systemDirectory returns the system directory that a path is, is below, or contains; empty if there is none.
func systemDirectory(p string) string {
	for _, d := range systemDirectories {
		if within(p, d) || within(d, p) {
			return d
		}
	}
	return ""
}

// KeyPrefix returns the errors of the prefix of a network's keys; empty means the default.
func (r Rules) KeyPrefix(p string) field.ErrorList {
	at := r.Path.Child("prefix")
	switch {
	case p == "":
		return nil
	case !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p:
		return field.ErrorList{rules.EtcdPrefix.For(r.Owner).Invalid(at, p, r.Prefix)}
	case strings.ContainsFunc(p, func(r rune) bool { return !strings.ContainsRune(prefixCharacters, r) }):
		return field.ErrorList{rules.EtcdPrefixLetters.For(r.Owner).Invalid(at, p, r.Prefix)}
	case within(p, apiServerPrefix):
		return field.ErrorList{rules.EtcdPrefixTaken.For(r.Owner).Invalid(at, p, r.Prefix)}
	}
	return nil
}

const (
	prefixCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	// apiServerPrefix is the default of the API server's flag --etcd-prefix.
	apiServerPrefix = "/registry"
)

// within reports whether a path is equal to another path or below it.
func within(p, above string) bool { return p == above || strings.HasPrefix(p, above+"/") }

package flannel

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

var etcdPath = configPath.Child("etcd")

// portOwner says what else listens on a port on control-plane nodes; it is empty for a free one.
func portOwner(port uint32) string {
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
	case healthPort, metricsproxy.FlanneldPort:
		return "flannel's agent"
	case record.MetricsPort, metricsproxy.EtcdPort:
		return "the probes and the metrics of the managed etcd"
	}
	return ""
}

func validateEtcd(e *operatorv1.FlannelEtcd) field.ErrorList {
	if e == nil {
		return nil
	}
	var errs field.ErrorList
	if e.External != nil && e.Managed != nil {
		errs = append(errs, field.Forbidden(etcdPath, "has both external and managed; keep one of them").WithOrigin("flannel-etcd-one-of"))
	}
	if why := prefixProblem(e.Prefix); e.Prefix != "" && why != "" {
		errs = append(errs, field.Invalid(etcdPath.Child("prefix"), e.Prefix, why+"; e.g. "+defaultPrefix).WithOrigin("flannel-etcd-prefix"))
	}
	if e.External != nil {
		errs = append(errs, validateExternal(e.External)...)
	}
	if e.Managed != nil {
		errs = append(errs, validateManaged(e.Managed)...)
	}
	return errs
}

// prefixProblem says what is wrong with the prefix of flannel's keys.
func prefixProblem(p string) string {
	switch {
	case !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p:
		return "must begin with a slash, not end with one, and have no empty parts"
	case strings.ContainsFunc(p, func(r rune) bool { return !strings.ContainsRune(prefixCharacters, r) }):
		return "must consist of ASCII letters, digits, dots, dashes, underscores and slashes"
	case within(p, apiServerPrefix):
		return "is where the API server keeps its objects; choose another prefix"
	}
	return ""
}

const (
	prefixCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	// apiServerPrefix is the default of the API server's flag --etcd-prefix.
	apiServerPrefix = "/registry"
)

// within reports whether a path is another one, or below it.
func within(p, above string) bool { return p == above || strings.HasPrefix(p, above+"/") }

// systemDirectories are directories of a node that other programs own.
var systemDirectories = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/var/lib/cni", "/var/lib/containerd", "/var/lib/containers", "/var/lib/etcd", "/var/lib/kubelet", "/var/log", "/var/run",
}

// systemDirectory returns the directory of other programs that a path is, is below, or contains; empty if there is none.
func systemDirectory(p string) string {
	for _, d := range systemDirectories {
		if within(p, d) || within(d, p) {
			return d
		}
	}
	return ""
}

// validateExternal wants TLS with every member or with none.
func validateExternal(e *operatorv1.FlannelExternalEtcd) field.ErrorList {
	at := etcdPath.Child("external")
	var errs field.ErrorList
	if len(e.Endpoints) == 0 {
		errs = append(errs, field.Required(at.Child("endpoints"), "names no member of the etcd; write the URL of each, e.g. https://192.0.2.10:2379").WithOrigin("flannel-etcd-endpoints-required"))
	}
	schemes, seen := map[string]bool{}, map[string]bool{}
	for i, text := range e.Endpoints {
		scheme, why := endpointScheme(text)
		if why == "" && seen[text] {
			why = "is named twice; remove one"
		}
		if why != "" {
			errs = append(errs, field.Invalid(at.Child("endpoints").Index(i), text, why).WithOrigin("flannel-etcd-endpoint"))
		}
		schemes[scheme], seen[text] = true, true
	}
	if schemes["http"] && schemes["https"] {
		errs = append(errs, field.Forbidden(at.Child("endpoints"), "has http and https members; use one scheme for all").WithOrigin("flannel-etcd-schemes"))
	}
	return append(errs, validateExternalTLS(at, e, schemes)...)
}

func validateExternalTLS(at *field.Path, e *operatorv1.FlannelExternalEtcd, schemes map[string]bool) field.ErrorList {
	var errs field.ErrorList
	if e.CAConfigMap == "" && schemes["https"] {
		errs = append(errs, field.Required(at.Child("caConfigMap"),
			"is required with https endpoints; name the ConfigMap, in the operator's namespace, whose key ca-bundle.crt holds the authorities of the members").WithOrigin("flannel-etcd-tls"))
	}
	for _, f := range []struct{ name, value string }{
		{"caConfigMap", e.CAConfigMap}, {"clientCertificateSecret", e.ClientCertificateSecret},
	} {
		switch {
		case f.value != "" && schemes["http"] && !schemes["https"]:
			errs = append(errs, field.Forbidden(at.Child(f.name), "has no effect with http endpoints; remove it, or use https").WithOrigin("flannel-etcd-tls"))
		case f.value != "" && len(validation.IsDNS1123Subdomain(f.value)) > 0:
			errs = append(errs, field.Invalid(at.Child(f.name), f.value, "cannot be the name of an object; use lower-case letters, digits, dashes and dots").WithOrigin("flannel-etcd-object-name"))
		}
	}
	return errs
}

// endpointScheme returns the scheme of the URL of a member, or what is wrong with it.
func endpointScheme(text string) (scheme, why string) {
	const example = "; write it like https://192.0.2.10:2379"
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", "is not a URL with a host and a port" + example
	}
	switch {
	case u.User != nil:
		return u.Scheme, "holds a user name, which would be readable in the nodes' configuration; use a client certificate"
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Sprintf("has the scheme %q; use http or https", u.Scheme)
	case u.Hostname() == "" || u.Port() == "":
		return u.Scheme, "must have a host and a port" + example
	case !isHost(u.Hostname()):
		return u.Scheme, fmt.Sprintf("has the host %q, which is neither an IP address nor a DNS name", u.Hostname()) + example
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return u.Scheme, "must end after the port" + example
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return u.Scheme, "has a port that is not between 1 and 65535"
	}
	return u.Scheme, ""
}

// isHost reports whether a text is an IP address or a DNS name.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || len(validation.IsDNS1123Subdomain(strings.ToLower(text))) == 0
}

func validateManaged(m *operatorv1.FlannelManagedEtcd) field.ErrorList {
	at := etcdPath.Child("managed")
	errs := validatePort(at.Child("clientPort"), m.ClientPort, defaultClientPort, "flannel-etcd-port-range")
	errs = append(errs, validatePort(at.Child("peerPort"), m.PeerPort, defaultPeerPort, "flannel-etcd-port-range")...)
	clientPort, peerPort := uint32(defaultClientPort), uint32(defaultPeerPort)
	if m.ClientPort != nil {
		clientPort = *m.ClientPort
	}
	if m.PeerPort != nil {
		peerPort = *m.PeerPort
	}
	if clientPort == peerPort {
		errs = append(errs, field.Invalid(at.Child("peerPort"), peerPort, "is the client port too; choose two different ports").WithOrigin("flannel-etcd-port-collision"))
	}
	for _, p := range []struct {
		name string
		port uint32
	}{{"clientPort", clientPort}, {"peerPort", peerPort}} {
		if who := portOwner(p.port); who != "" {
			errs = append(errs, field.Invalid(at.Child(p.name), p.port, fmt.Sprintf("is the port of %s on the same nodes; choose another", who)).WithOrigin("flannel-etcd-port-collision"))
		}
	}
	if d := m.DataDir; d != "" && (!path.IsAbs(d) || path.Clean(d) != d || d == "/" || strings.ContainsAny(d, ":\x00")) {
		errs = append(errs, field.Invalid(at.Child("dataDir"), d, "must be the absolute path of a directory in its shortest form, without a colon; e.g. "+defaultDataDir).WithOrigin("flannel-etcd-data-dir"))
	} else if owned := systemDirectory(d); d != "" && owned != "" {
		errs = append(errs, field.Invalid(at.Child("dataDir"), d, fmt.Sprintf("shares %s with other programs of the node; choose a separate directory, e.g. %s", owned, defaultDataDir)).WithOrigin("flannel-etcd-data-dir"))
	}
	return errs
}

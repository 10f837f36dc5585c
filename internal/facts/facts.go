// Package facts has the facts about the cluster for which a network is rendered, as plain values. Controllers gather
// them; the pipeline and the providers read them. It does no I/O.
package facts

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

// Cluster has the facts about the cluster. The zero value means that nothing is known yet.
type Cluster struct {
	// Platform is the kind of infrastructure, with the names of config.openshift.io Infrastructure
	// ("BareMetal", "AWS", ...). "None" where there is no such object, and on plain Kubernetes.
	Platform string
	// APIServer is the address at which pods on the host network reach the API server without the service network.
	APIServer HostPort
	// HostMTU is the smallest MTU in bytes of the default-route interfaces of all probed nodes; 0 if it is not known yet.
	HostMTU int
	// HostMTUAssumed is true if HostMTU is only an assumption: it is used for defaults, but not to refuse anything.
	HostMTUAssumed bool `json:",omitempty"`
	// Interfaces are the sorted names of the interfaces with an address that at least one probed node has; empty if unknown.
	Interfaces []string `json:",omitempty"`
	// Images maps the names of environment variables to image references.
	Images Images
	// ReleaseVersion is the version of this operator; operands carry it as an annotation.
	ReleaseVersion string
	// ControlPlane lists the control-plane nodes, oldest first, then by name.
	ControlPlane []Node
	// NodeCount is the number of nodes in the cluster, control plane included.
	NodeCount int
	// NodeAddresses maps each node's name to its internal addresses. Pools may not contain them.
	NodeAddresses map[string][]netip.Addr
	// OldestKernel is the oldest Linux version among the nodes; {0,0} if unknown.
	OldestKernel KernelVersion
	// MTUMigration is the progress of an MTU migration.
	MTUMigration MTUMigration
	// Services describes the cluster's existing support for Services.
	Services Services
	// Declared has what the cluster declares for omitted fields. It is nil if it is not needed, because a configuration is recorded, and
	// where Network.config determines the fields.
	Declared *Declared `json:"-"`
	// KeepConntrackMax is true if kube-proxy may not size the nodes' connection-tracking tables, because nodes are network namespaces of
	// one machine, from which its table cannot be written. kube-proxy sizes them otherwise.
	KeepConntrackMax bool `json:",omitempty"`
	// PullSecret is the name of the pull secret of workloads, in the namespace of each; empty if there is none.
	PullSecret string `json:",omitempty"`
	// TLS has the settings of TLS servers from the cluster's TLS profile. The zero value means their own defaults.
	TLS tlsprofile.Settings
}

// LinkMTU returns the smallest known MTU of links in bytes; 0 if unknown.
func (c Cluster) LinkMTU() int {
	if c.HostMTUAssumed {
		return 0
	}
	return c.HostMTU
}

// KernelVersion is the version of a Linux kernel.
type KernelVersion struct{ Major, Minor int }

// AtLeast reports whether the version is known and not older than the given one.
func (k KernelVersion) AtLeast(major, minor int) bool {
	return k.Major > major || k.Major == major && k.Minor >= minor
}

func (k KernelVersion) String() string { return fmt.Sprintf("%d.%d", k.Major, k.Minor) }

// ParseKernelVersion parses the first two numbers of a version such as 5.14.0-427.el9.x86_64.
func ParseKernelVersion(version string) (v KernelVersion, ok bool) {
	major, rest, ok := strings.Cut(version, ".")
	if !ok {
		return KernelVersion{}, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(rest[:end])
	return KernelVersion{Major: x, Minor: y}, err == nil && err2 == nil
}

// HostPort is a host (a name or an address without brackets) and a TCP port.
type HostPort struct {
	Host string
	Port int
}

// The environment variables with the address of the API server in pods.
const (
	ServiceHostVariable = "KUBERNETES_SERVICE_HOST"
	ServicePortVariable = "KUBERNETES_SERVICE_PORT"
)

// Env returns the environment variables with the address of the API server itself, whose Service works only with kube-proxy. It returns none
// for an empty address, with which objects are rendered without a cluster.
func (h HostPort) Env() []corev1.EnvVar {
	if h.Host == "" {
		return nil
	}
	return []corev1.EnvVar{{Name: ServiceHostVariable, Value: h.Host}, {Name: ServicePortVariable, Value: strconv.Itoa(h.Port)}}
}

// Node has the facts about one node that rendering needs.
type Node struct {
	Name string
	UID  string
	// Addresses are the node's internal addresses, the primary family first.
	Addresses []netip.Addr
}

// Images maps the names of environment variables (FLANNEL_IMAGE, KUBE_PROXY_IMAGE, ...) to image references. The entry
// with the empty name, if there is one, is used for every variable that is not listed, with %s replaced by the name of the
// variable. Offline rendering uses it for placeholders.
type Images map[string]string

// PullSecretName is the name of the Secret, of type kubernetes.io/dockerconfigjson, in the operator's namespace and of its copies in those
// of operands.
const PullSecretName = "network-operator-pull-secret"

// OperatorImage is the environment variable that names the operator's own image, whose binaries also run on nodes.
const OperatorImage = "NETWORK_OPERATOR_IMAGE"

// ErrNoImage is wrapped by the error of Images.Get.
var ErrNoImage = errors.New("image not given")

// Get returns the image that an environment variable names. The error names the variable and the component that needs it.
func (i Images) Get(variable, neededBy string) (string, error) {
	if ref := i[variable]; ref != "" {
		return ref, nil
	}
	if pattern := i[""]; pattern != "" {
		return strings.ReplaceAll(pattern, "%s", variable), nil
	}
	return "", fmt.Errorf("%w: the environment variable %s of the operator must name the image for %s", ErrNoImage, variable, neededBy)
}

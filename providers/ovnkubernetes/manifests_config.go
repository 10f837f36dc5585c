package ovnkubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// configHash is the pod annotation with a hash of the configuration. Pods restart when it changes.
const configHash = "networkoperator.openshift.io/config-hash"

// configuration returns the data of the ConfigMap. It omits keys without a value: without a cluster, the control-plane nodes and the API server are unknown.
func configuration(spec *operatorv1.NetworkSpec, f facts.Cluster) (map[string]string, error) {
	var pools []string
	for i, p := range spec.ClusterNetwork {
		network, err := netip.ParsePrefix(p.CIDR)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clusterPath.Index(i).Child("cidr"), err)
		}
		pools = append(pools, fmt.Sprintf("%s/%d", network.Masked(), p.HostPrefix))
	}
	data := map[string]string{
		agentconfig.KeyNorth:          "unix:" + agentconfig.NorthSocket,
		agentconfig.KeySouth:          south(f.ControlPlane, tunnelsIPv6(spec)),
		agentconfig.KeyClusterNetwork: strings.Join(pools, ","),
		agentconfig.KeyServiceNetwork: strings.Join(spec.ServiceNetwork, ","),
	}
	if h := f.APIServer; h.Host != "" {
		u := url.URL{Scheme: "https", Host: net.JoinHostPort(h.Host, strconv.Itoa(h.Port))}
		data[agentconfig.KeyAPIServer] = u.String()
	}
	if n := networkFlows(spec.ExportNetworkFlows); n.Any() {
		text, err := n.Encode()
		if err != nil {
			return nil, err
		}
		data[agentconfig.KeyNetworkFlows] = text
	}
	text, err := audit(spec).Encode()
	if err != nil {
		return nil, err
	}
	data[agentconfig.KeyAudit] = text
	return data, nil
}

// mountSyslog mounts the node's syslog socket into the container of ovn-controller if audit messages are sent to one. It mounts the C library's socket itself,
// and any other with its directory, so that the syslog server can recreate it.
func mountSyslog(pod *corev1.PodSpec, destination string) {
	where, kind := agentconfig.SyslogSocket, corev1.HostPathUnset
	if file, found := agentconfig.UnixPath(destination); found && file != agentconfig.SyslogSocket {
		where, kind = path.Dir(file), corev1.HostPathDirectoryOrCreate
	} else if !found && destination != agentconfig.DestinationLibc {
		return
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "syslog", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: where, Type: &kind}}})
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Name == agentconfig.CommandController {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "syslog", MountPath: where})
		}
	}
}

// south returns the southbound databases of all control-plane nodes, at their addresses for tunnels, where masters listen. It is sorted by address, so that it
// does not depend on the order in which nodes join.
func south(nodes []facts.Node, ipv6 bool) string {
	var addresses []netip.Addr
	for _, n := range nodes {
		if i := slices.IndexFunc(n.Addresses, func(a netip.Addr) bool { return a.Is6() == ipv6 }); i >= 0 {
			addresses = append(addresses, n.Addresses[i])
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	var remotes []string
	for _, a := range slices.Compact(addresses) {
		remotes = append(remotes, "ssl:"+netip.AddrPortFrom(a, agentconfig.SouthPort).String())
	}
	return strings.Join(remotes, ",")
}

// fromField returns a variable with a field of the pod, fromKey one with a key of the ConfigMap.
func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func fromKey(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: agentconfig.ConfigMap}, Key: key, Optional: new(key == agentconfig.KeyAPIServer),
	}}}
}

// environment returns the variables of all containers.
func environment(spec *operatorv1.NetworkSpec, f facts.Cluster) []corev1.EnvVar {
	c := settings(spec)
	number := func(n *uint32) string { return strconv.FormatUint(uint64(*orZero(n)), 10) }
	return append([]corev1.EnvVar{
		fromField(agentconfig.VariableNode, "spec.nodeName"),
		fromField(agentconfig.VariableNodeAddress, "status.hostIPs"),
		fromKey(agentconfig.VariableAPIServer, agentconfig.KeyAPIServer),
		fromKey(agentconfig.VariableNorth, agentconfig.KeyNorth),
		fromKey(agentconfig.VariableSouth, agentconfig.KeySouth),
		fromKey(agentconfig.VariableClusterNetwork, agentconfig.KeyClusterNetwork),
		fromKey(agentconfig.VariableServiceNetwork, agentconfig.KeyServiceNetwork),
		fromKey(agentconfig.VariableMTU, agentconfig.KeyMTU),
		{Name: agentconfig.VariableMultiNetwork, Value: strconv.FormatBool(spec.MultiNetworkEnabled())},
		{Name: agentconfig.VariableTunnelPort, Value: number(c.GenevePort)},
		{Name: agentconfig.VariableGatewayMode, Value: agentconfig.GatewayLocal},
		{Name: agentconfig.VariableLogLevel, Value: logLevel(spec.LogLevel)},
	}, f.APIServer.Env()...)
}

// variables returns the names of all variables that the operator sets in main containers.
func variables() []string {
	names := []string{agentconfig.VariableHealth, facts.ServiceHostVariable, facts.ServicePortVariable}
	for _, v := range environment(&operatorv1.NetworkSpec{}, facts.Cluster{}) {
		names = append(names, v.Name)
	}
	return names
}

// logLevel returns the log level of containers; debug is the most verbose one.
func logLevel(l osv1.LogLevel) string {
	if l == "" || l == osv1.Normal {
		return "info"
	}
	return "debug"
}

// hash returns a hash of the values of keys in their order.
func hash(data map[string]string, keys []string) string {
	h := sha256.New()
	for _, k := range keys {
		fmt.Fprintf(h, "%q=%q\n", k, data[k])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

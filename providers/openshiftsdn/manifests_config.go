package openshiftsdn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// unprivilegedFile is the ConfigMap key of the configuration for the long-running kube-proxy, which is unprivileged.
const unprivilegedFile = "kube-proxy-unprivileged-config.yaml"

// configuration returns the configuration of the controller and the agents.
func configuration(spec *operatorv1.NetworkSpec, proxy *serviceproxy.Config, openShift bool) (agentconfig.Config, error) {
	c, out := settings(spec), agentconfig.Default()
	if c.Mode == "" || c.MTU == nil || c.VXLANPort == nil || c.UseExternalOpenvswitch == nil || c.EnableUnidling == nil || len(spec.ServiceNetwork) != 1 {
		return out, errors.New("the specification is not filled: it lacks settings of OpenShift SDN or the Service CIDR")
	}
	for i, p := range spec.ClusterNetwork {
		network, err := netip.ParsePrefix(p.CIDR)
		if err != nil {
			return out, fmt.Errorf("%s: %w", clusterPath.Index(i).Child("cidr"), err)
		}
		out.ClusterNetworks = append(out.ClusterNetworks, agentconfig.ClusterNetwork{CIDR: network.Masked(), HostPrefix: int(p.HostPrefix)})
	}
	services, err := netip.ParsePrefix(spec.ServiceNetwork[0])
	if err != nil {
		return out, fmt.Errorf("spec.serviceNetwork[0]: %w", err)
	}
	out.Mode, out.ServiceNetwork, out.VXLANPort, out.MTU = agentconfig.Mode(c.Mode), services.Masked(), int(*c.VXLANPort), int(*c.MTU)
	out.EnableUnidling, out.ExternalSwitch, out.OpenShift = *c.EnableUnidling, *c.UseExternalOpenvswitch, openShift
	out.MasqueradeBit = masqueradeBit(proxy)
	out.LogLevel = logLevel(spec.LogLevel)
	out.CNI.MultiNetwork = spec.MultiNetworkEnabled()
	if out.Mode == agentconfig.Multitenant {
		out.ReservedVNIDs = reserved(openShift)
	}
	return out, nil
}

// masqueradeBit returns the packet mark bit that kube-proxy uses for masquerading.
func masqueradeBit(c *serviceproxy.Config) int {
	bit := c.NFTables.MasqueradeBit
	if string(c.Mode) == serviceproxy.ModeIPTables {
		bit = c.IPTables.MasqueradeBit
	}
	if bit == nil {
		return agentconfig.Default().MasqueradeBit
	}
	return int(*bit)
}

// logLevel returns the log level of the agents and the controller; debug is the most verbose one.
func logLevel(l osv1.LogLevel) string {
	if l == "" || l == osv1.Normal {
		return "info"
	}
	return "debug"
}

// reserved returns the fixed VNIDs of namespaces in mode Multitenant: those of namespaces whose pods all others use, and those of OpenShift's control plane.
// On plain Kubernetes, cluster DNS is in kube-system.
func reserved(openShift bool) map[string]uint32 {
	if !openShift {
		return map[string]uint32{"kube-system": sdnv1.VNIDGlobal}
	}
	out := map[string]uint32{"kube-system": sdnv1.VNIDControlPlane}
	for _, name := range []string{"dns", "ingress", "monitoring", "kube-apiserver", "kube-apiserver-operator", "operator-lifecycle-manager", "image-registry", "user-workload-monitoring"} {
		out["openshift-"+name] = sdnv1.VNIDGlobal
	}
	for _, name := range []string{"apiserver", "etcd", "etcd-operator", "authentication", "authentication-operator", "service-catalog-apiserver",
		"service-catalog-controller-manager", "template-service-broker", "ansible-service-broker"} {
		out["openshift-"+name] = sdnv1.VNIDControlPlane
	}
	return out
}

// plugins maps modes to the pluginName of a ClusterNetwork.
var plugins = map[agentconfig.Mode]string{
	agentconfig.Subnet: sdnv1.PluginSubnet, agentconfig.Multitenant: sdnv1.PluginMultitenant, agentconfig.NetworkPolicy: sdnv1.PluginNetworkPolicy,
}

// networkObject returns the ClusterNetwork.
func networkObject(c agentconfig.Config) *sdnv1.ClusterNetwork {
	out := &sdnv1.ClusterNetwork{ServiceNetwork: c.ServiceNetwork.String(), PluginName: plugins[c.Mode], VXLANPort: new(uint32(c.VXLANPort)), MTU: new(uint32(c.MTU))}
	out.Name = clusterNetwork
	for _, n := range c.ClusterNetworks {
		out.ClusterNetworks = append(out.ClusterNetworks, sdnv1.ClusterNetworkEntry{CIDR: n.CIDR.String(), HostSubnetLength: uint32(32 - n.HostPrefix)})
	}
	if len(out.ClusterNetworks) > 0 {
		out.Network, out.HostSubnetLength = out.ClusterNetworks[0].CIDR, out.ClusterNetworks[0].HostSubnetLength
	}
	return out
}

// netNamespaces returns the NetNamespaces of reserved VNIDs, sorted by name.
func netNamespaces(c agentconfig.Config) []*sdnv1.NetNamespace {
	var out []*sdnv1.NetNamespace
	for _, name := range slices.Sorted(maps.Keys(c.ReservedVNIDs)) {
		n := &sdnv1.NetNamespace{NetName: name, NetID: c.ReservedVNIDs[name]}
		n.Name = name
		out = append(out, n)
	}
	return out
}

// hash returns a hash of texts in their order.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%q\n", t)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

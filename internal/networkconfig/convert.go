// Package networkconfig converts NetworkConfig, the short form of the configuration, into a Network, compares
// specifications, and computes the status of a NetworkConfig.
//
// It is pure. The controller that reads and writes the objects is in another package.
package networkconfig

import (
	"net/netip"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// minHostBits is the minimum hostSubnetLength: with one host bit there is no address for a pod.
const minHostBits = 2

// Convert converts the specification of a NetworkConfig into that of a Network. The result shares no memory with the
// argument, and fields that NetworkConfig does not have keep their zero values. If a value cannot be converted, it
// returns nil and all errors, with paths in NetworkConfig. It does not validate the Network beyond the conversion.
func Convert(in *networkoperatorv1.NetworkConfigSpec) (*operatorv1.NetworkSpec, field.ErrorList) {
	from := in.DeepCopy()
	out := &operatorv1.NetworkSpec{
		DefaultNetwork:     from.DefaultNetwork.DefaultNetworkDefinition,
		AdditionalNetworks: from.AdditionalNetworks,
		DeployKubeProxy:    from.DeployKubeProxy,
		KubeProxyConfig:    from.KubeProxyConfig,
	}
	spec := field.NewPath("spec")
	errs := convertServiceNetwork(out, from.ServiceNetwork, spec.Child("serviceNetwork"))
	errs = append(errs, convertClusterNetworks(out, from.ClusterNetworks, spec.Child("clusterNetworks"))...)
	errs = append(errs, convertDefaultNetwork(&out.DefaultNetwork, spec.Child("defaultNetwork"))...)
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

func convertServiceNetwork(out *operatorv1.NetworkSpec, cidr string, path *field.Path) field.ErrorList {
	if cidr == "" {
		return field.ErrorList{rules.ServiceNetworkRequired.Required(path)}
	}
	if _, err := parse(cidr, path); err != nil {
		return field.ErrorList{err}
	}
	out.ServiceNetwork = []string{cidr}
	return nil
}

func convertClusterNetworks(out *operatorv1.NetworkSpec, in []networkoperatorv1.ClusterNetwork, path *field.Path) field.ErrorList {
	if len(in) == 0 {
		return field.ErrorList{rules.ClusterNetworksRequired.Required(path)}
	}
	var errs field.ErrorList
	for i, pool := range in {
		prefix, err := parse(pool.CIDR, path.Index(i).Child("cidr"))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		length, err := hostPrefix(prefix, pool.HostSubnetLength, path.Index(i).Child("hostSubnetLength"))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out.ClusterNetwork = append(out.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: pool.CIDR, HostPrefix: length})
	}
	return errs
}

// hostPrefix converts the number of host bits of a node's block into a prefix length.
func hostPrefix(pool netip.Prefix, hostBits uint32, path *field.Path) (uint32, *field.Error) {
	width := pool.Addr().BitLen()
	most := width - pool.Bits()
	if most < minHostBits {
		return 0, rules.HostSubnetLengthPool.Invalid(path, hostBits, pool)
	}
	if hostBits < minHostBits || uint64(hostBits) > uint64(most) {
		return 0, rules.HostSubnetLength.Invalid(path, hostBits, most, pool.Bits(), width-9)
	}
	return uint32(width) - hostBits, nil
}

func convertDefaultNetwork(network *operatorv1.DefaultNetworkDefinition, path *field.Path) field.ErrorList {
	if network.Type == "" {
		return field.ErrorList{rules.TypeRequired.Required(path.Child("type"), "Flannel, OVNKubernetes, OpenShiftSDN")}
	}
	network.Type = respell(network.Type,
		operatorv1.NetworkTypeFlannel, operatorv1.NetworkTypeOVNKubernetes, operatorv1.NetworkTypeOpenShiftSDN,
		operatorv1.NetworkTypeKuryr, operatorv1.NetworkTypeNuage, operatorv1.NetworkTypeContiv)
	if sdn := network.OpenShiftSDNConfig; sdn != nil {
		sdn.Mode = respell(sdn.Mode, osv1.SDNModeSubnet, osv1.SDNModeMultitenant, osv1.SDNModeNetworkPolicy)
	}
	return nil
}

// respell returns the known name that differs from the given one only in case, or else the given name. The first version
// of the API used OpenshiftSDN and Networkpolicy.
func respell[T ~string](name T, known ...T) T {
	for _, k := range known {
		if strings.EqualFold(string(name), string(k)) {
			return k
		}
	}
	return name
}

// parse parses a pool, and refuses one with host bits, which is ambiguous.
func parse(cidr string, path *field.Path) (netip.Prefix, *field.Error) {
	prefix, err := netaddr.ParseCIDR(cidr)
	if err != nil {
		return netip.Prefix{}, netaddr.Invalid(path, cidr, err)
	}
	return prefix, nil
}

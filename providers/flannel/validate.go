package flannel

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

const (
	minMTU = 576 // RFC 791: the smallest MTU that every IPv4 host must accept
	maxMTU = 65535
	maxVNI = 1<<24 - 1

	// minNetwork and minSplit are flannel's limits: a network has at least four subnets, of which the first is never assigned.
	minNetwork = 28
	minSplit   = 2

	maxInterfaceName = 15 // Linux's IFNAMSIZ, minus the terminating zero
)

var (
	clusterPath = field.NewPath("spec", "clusterNetwork")
	configPath  = field.NewPath("spec", "defaultNetwork", "flannelConfig")
)

// Validate returns every error in flannel's settings, and in the pool where flannel is stricter than other networks.
func (Flannel) Validate(spec *operatorv1.NetworkSpec) field.ErrorList {
	if spec == nil {
		return nil
	}
	c := settings(spec)
	errs := validatePool(spec.ClusterNetwork)
	errs = append(errs, validateBackend(c)...)
	errs = append(errs, validateMTU(c)...)
	errs = append(errs, validateInterface(c.Interface)...)
	return append(errs, validateEtcd(c.Etcd)...)
}

// validatePool validates the single pool. The pipeline validates the number of pools, the IP family and hostPrefix according to Traits.
func validatePool(pools []operatorv1.ClusterNetworkEntry) field.ErrorList {
	if len(pools) != 1 {
		return nil
	}
	p, err := netaddr.ParseCIDR(pools[0].CIDR)
	if err != nil || !p.Addr().Is4() {
		return nil
	}
	at := clusterPath.Index(0)
	if p.Bits() > minNetwork {
		return field.ErrorList{rules.FlannelNetworkSize.Invalid(at.Child("cidr"), pools[0].CIDR, minNetwork)}
	}
	low, n := p.Bits()+minSplit, int(pools[0].HostPrefix)
	if n < p.Bits() || n >= low {
		return nil
	}
	return field.ErrorList{rules.FlannelHostPrefix.Invalid(at.Child("hostPrefix"), n, low, p.Bits())}
}

func validateBackend(c *operatorv1.FlannelConfig) field.ErrorList {
	var errs field.ErrorList
	switch c.Backend {
	case "", operatorv1.FlannelBackendHostGW, operatorv1.FlannelBackendVXLAN:
	default:
		errs = append(errs, rules.FlannelBackend.Invalid(configPath.Child("backend"), c.Backend))
	}
	if c.VXLAN == nil {
		return errs
	}
	at := configPath.Child("vxlan")
	if c.Backend != operatorv1.FlannelBackendVXLAN {
		errs = append(errs, rules.FlannelVXLANUnused.Forbidden(at, first(c.Backend, defaultBackend)))
	}
	if v := c.VXLAN.VNI; v != nil && (*v < 1 || *v > maxVNI) {
		errs = append(errs, rules.FlannelVXLANVNI.Invalid(at.Child("vni"), *v))
	}
	return append(errs, validatePort(at.Child("port"), c.VXLAN.Port)...)
}

func validateMTU(c *operatorv1.FlannelConfig) field.ErrorList {
	if c.MTU == nil || *c.MTU >= minMTU && *c.MTU <= maxMTU {
		return nil
	}
	return field.ErrorList{rules.FlannelMTU.Invalid(configPath.Child("mtu"), *c.MTU)}
}

// interfaceName matches names of interfaces; patterns are not supported.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)

// validateInterface validates the name of the interface for traffic to other nodes.
func validateInterface(name string) field.ErrorList {
	switch {
	case name == "":
		return nil
	case name == "lo":
		return field.ErrorList{rules.FlannelLoopback.Invalid(configPath.Child("interface"), name)}
	case len(name) > maxInterfaceName || !interfaceName.MatchString(name):
		return field.ErrorList{rules.FlannelInterfaceName.Invalid(configPath.Child("interface"), name)}
	}
	return nil
}

func validatePort(at *field.Path, port *uint32) field.ErrorList {
	if port == nil || *port >= 1 && *port <= 65535 {
		return nil
	}
	return field.ErrorList{rules.FlannelVXLANPort.Invalid(at, *port)}
}

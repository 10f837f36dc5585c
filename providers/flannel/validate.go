package flannel

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

const (
	minMTU = 576 // RFC 791: what every IPv4 host must take
	maxMTU = 65535
	maxVNI = 1<<24 - 1

	// minNetwork and minSplit are flannel's own limits: a network of at least four subnets of which the first is
	// not given out.
	minNetwork = 28
	minSplit   = 2

	maxInterfaceName = 15 // Linux's IFNAMSIZ, less the final zero
)

var (
	clusterPath = field.NewPath("spec", "clusterNetwork")
	configPath  = field.NewPath("spec", "defaultNetwork", "flannelConfig")
)

// Validate returns everything that is wrong with flannel's settings, and with the pool as far as flannel wants
// more than other networks do.
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

// validatePool looks at the one entry that flannel takes. That it is one, that it is IPv4, and that hostPrefix is
// inside of it, are rules of the pipeline, which knows flannel's traits.
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
		return field.ErrorList{field.Invalid(at.Child("cidr"), pools[0].CIDR,
			fmt.Sprintf("is too small for flannel, which needs at least a /%d; use a shorter prefix, e.g. 10.128.0.0/14", minNetwork)).WithOrigin("flannel-network-size")}
	}
	low, n := p.Bits()+minSplit, int(pools[0].HostPrefix)
	if n < p.Bits() || n >= low {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("hostPrefix"), n,
		fmt.Sprintf("must be between %d and 30 for a /%d: flannel divides the pool into at least four blocks, and never gives out the first", low, p.Bits())).WithOrigin("flannel-host-prefix")}
}

func validateBackend(c *operatorv1.FlannelConfig) field.ErrorList {
	var errs field.ErrorList
	switch c.Backend {
	case "", operatorv1.FlannelBackendHostGW, operatorv1.FlannelBackendVXLAN:
	default:
		errs = append(errs, field.Invalid(configPath.Child("backend"), c.Backend,
			rules.Detail("flannel-backend")).WithOrigin("flannel-backend"))
	}
	if c.VXLAN == nil {
		return errs
	}
	at := configPath.Child("vxlan")
	if c.Backend != operatorv1.FlannelBackendVXLAN {
		detail := rules.Detail("flannel-vxlan-block", first(c.Backend, defaultBackend))
		errs = append(errs, field.Forbidden(at, detail).WithOrigin("flannel-vxlan-block"))
	}
	if v := c.VXLAN.VNI; v != nil && (*v < 1 || *v > maxVNI) {
		errs = append(errs, field.Invalid(at.Child("vni"), *v, rules.Detail("flannel-vxlan-vni-range")).WithOrigin("flannel-vxlan-vni-range"))
	}
	return append(errs, validatePort(at.Child("port"), c.VXLAN.Port)...)
}

func validateMTU(c *operatorv1.FlannelConfig) field.ErrorList {
	if c.MTU == nil || *c.MTU >= minMTU && *c.MTU <= maxMTU {
		return nil
	}
	return field.ErrorList{field.Invalid(configPath.Child("mtu"), *c.MTU,
		fmt.Sprintf("must be between %d and %d bytes; leave it out for the greatest that the nodes support", minMTU, maxMTU)).WithOrigin("flannel-mtu-range")}
}

// interfaceName is what nodes call their interfaces: a name, not a pattern.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)

// validateInterface accepts the name of an interface that leads to other nodes.
func validateInterface(name string) field.ErrorList {
	const leave = "leave it out for the interface of the default route"
	switch {
	case name == "":
		return nil
	case name == "lo":
		return field.ErrorList{field.Invalid(configPath.Child("interface"), name,
			"is the loopback interface, which no other node can be reached through; write the one that leads to the other nodes, or "+leave).WithOrigin("flannel-interface-name")}
	case len(name) > maxInterfaceName || !interfaceName.MatchString(name):
		return field.ErrorList{field.Invalid(configPath.Child("interface"), name,
			fmt.Sprintf("is not the name of an interface: at most %d ASCII letters, digits, dots, dashes, underscores and at signs, not beginning with a dot or a dash, e.g. eth1; patterns are not supported; %s",
				maxInterfaceName, leave)).WithOrigin("flannel-interface-name")}
	}
	return nil
}

func validatePort(at *field.Path, port *uint32) field.ErrorList {
	const rule = "flannel-vxlan-port-range"
	if port == nil || *port >= 1 && *port <= 65535 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *port, rules.Detail(rule)).WithOrigin(rule)}
}

package clusterconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// maxPools is the maximum number of pools of each kind that are checked. Time and output grow with the square of the number.
const maxPools = 64

// environment is the part of the cluster that affects a configuration. The zero value is an unknown platform.
type environment struct {
	// platform is a platform type of Infrastructure; empty if it is unknown.
	platform string
	// gates are the enabled feature gates.
	gates []string
	// machines are the machine networks in Infrastructure.
	machines []string
}

var (
	specPath    = field.NewPath("spec")
	servicePath = specPath.Child("serviceNetwork")
	clusterPath = specPath.Child("clusterNetwork")
	typePath    = specPath.Child("networkType")
)

// validate returns all errors of a configuration on its platform, with paths in Network.config. The pipeline checks what a network type
// requires in addition.
func validate(spec *configv1.NetworkSpec, env environment) field.ErrorList {
	service, errs := readServices(spec.ServiceNetwork)
	cluster, more := readPools(spec.ClusterNetwork)
	errs = append(errs, more...)
	if len(spec.ServiceNetwork) <= maxPools && len(spec.ClusterNetwork) <= maxPools {
		errs = append(errs, overlaps(slices.Concat(service, cluster), env.machines)...)
	}
	errs = append(errs, serviceCount(service)...)
	if strings.TrimSpace(spec.NetworkType) == "" {
		errs = append(errs, rules.TypeRequired.Required(typePath, "Flannel, OVNKubernetes, OpenShiftSDN"))
	}
	errs = append(errs, families(service, cluster, env)...)
	errs = append(errs, externalIP(spec.ExternalIP)...)
	return append(errs, nodePorts(spec.ServiceNodePortRange)...)
}

// pool is an entry of a network list. Its prefix is invalid if the entry is unreadable.
type pool struct {
	path   *field.Path
	text   string
	prefix netip.Prefix
}

// readServices parses the service networks.
func readServices(list []string) ([]pool, field.ErrorList) {
	if len(list) == 0 {
		return nil, field.ErrorList{rules.ServiceNetworkRequired.Required(servicePath)}
	}
	var pools []pool
	var errs field.ErrorList
	for i, text := range list[:min(len(list), maxPools)] {
		p := pool{path: servicePath.Index(i), text: text}
		var err *field.Error
		if p.prefix, err = readCIDR(p.path, text); err != nil {
			errs = append(errs, err)
		}
		pools = append(pools, p)
	}
	return pools, errs
}

// readPools parses the cluster networks.
func readPools(list []configv1.ClusterNetworkEntry) ([]pool, field.ErrorList) {
	if len(list) == 0 {
		return nil, field.ErrorList{rules.ClusterNetworkRequired.Required(clusterPath)}
	}
	var pools []pool
	var errs field.ErrorList
	if len(list) > maxPools {
		errs = append(errs, field.TooMany(clusterPath, len(list), maxPools))
	}
	for i, entry := range list[:min(len(list), maxPools)] {
		p := pool{path: clusterPath.Index(i), text: entry.CIDR}
		var err *field.Error
		if p.prefix, err = readCIDR(p.path.Child("cidr"), entry.CIDR); err != nil {
			errs = append(errs, err)
		}
		if err := hostPrefix(p, entry.HostPrefix); err != nil {
			errs = append(errs, err)
		}
		p.path = p.path.Child("cidr")
		pools = append(pools, p)
	}
	return pools, errs
}

// readCIDR parses a network. For a network with host bits it returns both an error and the masked network.
func readCIDR(path *field.Path, text string) (netip.Prefix, *field.Error) {
	p, err := netaddr.ParseCIDR(text)
	if err == nil {
		return p, nil
	}
	wrong := netaddr.Invalid(path, shorten(text), err)
	if lenient, err := netip.ParsePrefix(text); err == nil && !lenient.Addr().Is4In6() {
		return lenient.Masked(), wrong
	}
	return netip.Prefix{}, wrong
}

// shorten truncates a value for use in a message.
func shorten(s string) string {
	const maxLength = 80
	if len(s) <= maxLength {
		return s
	}
	return strings.ToValidUTF8(s[:maxLength], "") + "..."
}

// hostPrefix checks that the block of a node fits into its pool. 0 means unset; the network type decides whether it is required.
func hostPrefix(p pool, length uint32) *field.Error {
	if length == 0 || !p.prefix.IsValid() {
		return nil
	}
	path := p.path.Child("hostPrefix")
	lo, hi := netaddr.BlockRange(p.prefix)
	switch {
	case uint64(length) < uint64(max(lo, 0)):
		return rules.HostPrefixRange.Invalid(path, length, lo, hi, p.prefix.Bits())
	case uint64(length) > uint64(max(hi, 0)):
		return rules.HostPrefixUnusable.Invalid(path, length, fmt.Sprintf("%d or less", hi))
	}
	return nil
}

// overlaps reports every pair of overlapping pools and every pool that overlaps a machine network.
func overlaps(pools []pool, machines []string) field.ErrorList {
	byName, list := map[string]pool{}, []netaddr.Pool(nil)
	for _, p := range pools {
		byName[p.path.String()+" "+p.prefix.String()] = p
		list = append(list, netaddr.Pool{Name: p.path.String() + " " + p.prefix.String(), Prefix: p.prefix})
	}
	var errs field.ErrorList
	for _, o := range netaddr.Overlaps(list) {
		errs = append(errs, rules.PoolOverlap.Invalid(byName[o.Second.Name].path, byName[o.Second.Name].text, o.Sentence()))
	}
	for _, text := range machines[:min(len(machines), maxPools)] {
		machine, err := netip.ParsePrefix(text)
		for _, p := range pools {
			if err == nil && p.prefix.IsValid() && machine.Overlaps(p.prefix) {
				errs = append(errs, rules.MachineNetworkOverlap.Invalid(p.path, p.text, machine, p.prefix, machine))
			}
		}
	}
	return errs
}

// serviceCount allows one service network, or one of each family.
func serviceCount(service []pool) field.ErrorList {
	if len(service) > 2 {
		return field.ErrorList{rules.ServiceNetworkCount.Forbidden(servicePath, len(service))}
	}
	if len(service) == 2 && netaddr.SameFamily(service[0].prefix, service[1].prefix) {
		return field.ErrorList{rules.ServiceNetworkFamily.Invalid(service[1].path, service[1].text, netaddr.Version(service[1].prefix))}
	}
	return nil
}

// families requires the same IP families for pods and services, and dual stack only on platforms that support it.
func families(service, cluster []pool, env environment) field.ErrorList {
	s, c := netaddr.FamiliesOf(readable(service)), netaddr.FamiliesOf(readable(cluster))
	if len(service) == 0 || len(cluster) == 0 || len(readable(service)) < len(service) || len(readable(cluster)) < len(cluster) {
		return nil // an unreadable entry may be of any family
	}
	var errs field.ErrorList
	if s != c {
		errs = append(errs, rules.FamilySymmetry.Forbidden(servicePath, c, s))
	}
	if (s.Dual() || c.Dual()) && !dualStack(env) {
		errs = append(errs, rules.PlatformDualStack.Forbidden(clusterPath, env.platform))
	}
	return errs
}

func readable(pools []pool) []netip.Prefix {
	var found []netip.Prefix
	for _, p := range pools {
		if p.prefix.IsValid() {
			found = append(found, p.prefix)
		}
	}
	return found
}

// dualStack reports whether the platform supports dual stack. An unknown platform is not refused.
func dualStack(env environment) bool {
	switch configv1.PlatformType(env.platform) {
	case "", configv1.BareMetalPlatformType, configv1.NonePlatformType, configv1.VSpherePlatformType, configv1.OpenStackPlatformType, configv1.KubevirtPlatformType:
		return true
	case configv1.AWSPlatformType, configv1.AzurePlatformType, configv1.GCPPlatformType:
		return slices.Contains(env.gates, env.platform+"DualStackInstall")
	}
	return false
}

// externalIP checks that the networks of the policy are CIDRs.
func externalIP(config *configv1.ExternalIPConfig) field.ErrorList {
	if config == nil {
		return nil
	}
	var errs field.ErrorList
	check := func(path *field.Path, list []string) {
		for i, text := range list[:min(len(list), maxPools)] {
			if _, err := netip.ParsePrefix(text); err != nil {
				errs = append(errs, rules.ExternalIPNetwork.Invalid(path.Index(i), shorten(text)))
			}
		}
	}
	path := specPath.Child("externalIP")
	check(path.Child("autoAssignCIDRs"), config.AutoAssignCIDRs)
	if p := config.Policy; p != nil {
		check(path.Child("policy", "allowedCIDRs"), p.AllowedCIDRs)
		check(path.Child("policy", "rejectedCIDRs"), p.RejectedCIDRs)
	}
	return errs
}

// nodePorts checks that the range is valid, which the pattern in the CRD cannot.
func nodePorts(text string) field.ErrorList {
	from, to, ok := strings.Cut(text, "-")
	low, err := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	if text == "" || ok && err == nil && err2 == nil && low >= 1 && low <= high && high <= 65535 {
		return nil
	}
	return field.ErrorList{rules.NodePortRange.Invalid(specPath.Child("serviceNodePortRange"), shorten(text))}
}

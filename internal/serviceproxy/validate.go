package serviceproxy

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The modes of detecting local traffic.
const (
	localClusterCIDR         kubeproxyv1alpha1.LocalMode = "ClusterCIDR"
	localBridgeInterface     kubeproxyv1alpha1.LocalMode = "BridgeInterface"
	localInterfaceNamePrefix kubeproxyv1alpha1.LocalMode = "InterfaceNamePrefix"
)

// Validate checks spec.kubeProxyConfig. With a network that serves Services itself nothing may be set in it, except the
// bind address for all addresses, which objects of OpenShift have.
func Validate(spec *operatorv1.NetworkSpec, t provider.Traits) field.ErrorList {
	path := field.NewPath("spec", "kubeProxyConfig")
	settings := spec.KubeProxyConfig
	if settings == nil {
		settings = &osv1.ProxyConfig{}
	}
	if t.ServiceProxy && !t.KubeProxy.Own {
		return validateUnused(settings, t, path)
	}
	errs := validateFields(settings, path)
	errs = append(errs, validateFamily(spec, settings.BindAddress, path.Child("bindAddress"))...)
	errs = append(errs, validateMode(settings, t, path)...)
	var c Config
	wrong := apply(&c, arguments(settings), path.Child("proxyArguments"))
	errs = append(errs, wrong...)
	errs = append(errs, validateTwice(settings, &c, path)...)
	if settings.BindAddress == "" {
		errs = append(errs, validateFamily(spec, c.BindAddress, path.Child("proxyArguments").Key("bind-address"))...)
	}
	errs = append(errs, validatePeriods(settings, &c, path.Child("proxyArguments"))...)
	errs = append(errs, validateLocal(&c, path.Child("proxyArguments"))...)
	if runs(spec, t) && len(wrong) == 0 {
		if t.KubeProxy.LocalBridge == "" {
			errs = append(errs, validatePools(spec, &c, path.Child("proxyArguments"))...)
		}
		errs = append(errs, validateClusterCIDR(spec, &c, path.Child("proxyArguments"))...)
	}
	return errs
}

// validateMode refuses a mode that does not work with the network.
func validateMode(settings *osv1.ProxyConfig, t provider.Traits, path *field.Path) field.ErrorList {
	values := settings.ProxyArguments[ModeArgument]
	if len(t.KubeProxy.Modes) == 0 || len(values) != 1 || slices.Contains(t.KubeProxy.Modes, values[0]) {
		return nil
	}
	if _, err := parseWord(values[0], ModeNFTables, ModeIPTables, ModeIPVS); err != nil {
		return nil // it is refused already
	}
	at := path.Child("proxyArguments").Key(ModeArgument)
	return field.ErrorList{rules.KubeProxyMode.Invalid(at, values[0], t.Type, strings.Join(t.KubeProxy.Modes, " or "))}
}

func validateUnused(settings *osv1.ProxyConfig, t provider.Traits, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(child string) {
		errs = append(errs, rules.KubeProxyNotAllowed.Forbidden(path.Child(child), t.Type))
	}
	switch settings.BindAddress {
	case "", "0.0.0.0", "::":
	default:
		refuse("bindAddress")
	}
	if settings.IptablesSyncPeriod != "" {
		refuse("iptablesSyncPeriod")
	}
	if len(settings.ProxyArguments) > 0 {
		refuse("proxyArguments")
	}
	return errs
}

func validateFields(settings *osv1.ProxyConfig, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v := settings.IptablesSyncPeriod; v != "" {
		if _, err := parseDuration(v, 1); err != nil {
			errs = append(errs, invalid(path.Child("iptablesSyncPeriod"), v, err))
		}
	}
	if v := settings.BindAddress; v != "" {
		if _, err := parseAddress(v); err != nil {
			errs = append(errs, invalid(path.Child("bindAddress"), v, err))
		}
	}
	return errs
}

// validateFamily refuses a bind address of an IP family that no pool has: kube-proxy uses its family as that of the cluster.
func validateFamily(spec *operatorv1.NetworkSpec, text string, at *field.Path) field.ErrorList {
	a, err := parseAddress(text)
	if err != nil || a.IsUnspecified() || len(spec.ClusterNetwork) == 0 {
		return nil
	}
	for _, pool := range spec.ClusterNetwork {
		// Invalid networks are refused elsewhere.
		if p, err := parseCIDR(pool.CIDR); err != nil || p.Addr().Is4() == a.Is4() {
			return nil
		}
	}
	family := netaddr.Families{IPv4: a.Is4(), IPv6: a.Is6()}
	return field.ErrorList{rules.KubeProxyBindFamily.Invalid(at, text, family, family)}
}

// validateTwice refuses a value that a field and an argument set, unless both are equal.
func validateTwice(settings *osv1.ProxyConfig, c *Config, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	refuse := func(argument, child string) {
		errs = append(errs, rules.KubeProxySetTwice.Forbidden(path.Child("proxyArguments").Key(argument), path.Child(child)))
	}
	if a, err := parseAddress(settings.BindAddress); err == nil && c.BindAddress != "" && a.String() != c.BindAddress {
		refuse("bind-address", "bindAddress")
	}
	d, err := parseDuration(settings.IptablesSyncPeriod, 1)
	if period := c.IPTables.SyncPeriod.Duration; err == nil && period != 0 && period != d {
		refuse("iptables-sync-period", "iptablesSyncPeriod")
	}
	return errs
}

// validatePeriods refuses a minimum period that is longer than the period.
func validatePeriods(settings *osv1.ProxyConfig, c *Config, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(argument string, least, period time.Duration) {
		if period == 0 {
			period = defaultSyncPeriod
		}
		if least > period {
			errs = append(errs, rules.KubeProxyPeriods.Invalid(path.Key(argument), least.String(), period, period))
		}
	}
	period := c.IPTables.SyncPeriod.Duration
	if d, err := parseDuration(settings.IptablesSyncPeriod, 1); err == nil && period == 0 {
		period = d
	}
	check("iptables-min-sync-period", c.IPTables.MinSyncPeriod.Duration, period)
	check("ipvs-min-sync-period", c.IPVS.MinSyncPeriod.Duration, c.IPVS.SyncPeriod.Duration)
	return errs
}

// validateLocal checks the arguments for the detection of local traffic and the addresses of NodePorts.
func validateLocal(c *Config, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, need := range []struct {
		mode     kubeproxyv1alpha1.LocalMode
		argument string
		value    string
	}{
		{localBridgeInterface, "pod-bridge-interface", c.DetectLocal.BridgeInterface},
		{localInterfaceNamePrefix, "pod-interface-name-prefix", c.DetectLocal.InterfaceNamePrefix},
	} {
		if c.DetectLocalMode == need.mode && need.value == "" {
			errs = append(errs, rules.KubeProxyLocalMode.Required(path.Key(need.argument), need.mode, need.argument))
		}
	}
	if !onePerFamily(strings.Split(c.ClusterCIDR, ",")) {
		errs = append(errs, rules.KubeProxyOnePerFamily.Invalid(path.Key("cluster-cidr"), c.ClusterCIDR))
	}
	for _, a := range c.NodePortAddresses {
		if a == "primary" && len(c.NodePortAddresses) > 1 {
			errs = append(errs, rules.KubeProxyPrimary.Invalid(path.Key("nodeport-addresses"), c.NodePortAddresses))
			break
		}
	}
	return errs
}

// validatePools requires an argument that replaces pools which kube-proxy does not support. The error is that of the argument:
// the pools are valid, and Network.config of OpenShift, which also has them, has no field that could resolve this.
func validatePools(spec *operatorv1.NetworkSpec, c *Config, path *field.Path) field.ErrorList {
	if c.ClusterCIDR != "" || c.DetectLocalMode != "" && c.DetectLocalMode != localClusterCIDR || onePerFamily(poolCIDRs(spec)) {
		return nil
	}
	return field.ErrorList{rules.KubeProxyPools.Required(path.Key("detect-local-mode"))}
}

// validateClusterCIDR refuses a cluster-cidr that omits a pool of its IP family: kube-proxy would treat its pods as clients
// outside of the cluster.
func validateClusterCIDR(spec *operatorv1.NetworkSpec, c *Config, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !onePerFamily(strings.Split(c.ClusterCIDR, ",")) {
		return nil // kube-proxy accepts one of each, which is refused already
	}
	for _, text := range strings.Split(c.ClusterCIDR, ",") {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			continue // not set, or refused already
		}
		for _, pool := range poolCIDRs(spec) {
			p, err := netip.ParsePrefix(pool)
			if err != nil || netaddr.Contains(cidr, p) || !netaddr.SameFamily(cidr, p) {
				continue
			}
			errs = append(errs, rules.KubeProxyClusterCIDR.Invalid(path.Key("cluster-cidr"), text, pool))
		}
	}
	return errs
}

// onePerFamily reports whether no IP family has two networks. It ignores invalid networks, which are refused elsewhere.
func onePerFamily(cidrs []string) bool {
	seen := map[bool]bool{}
	for _, s := range cidrs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			continue
		}
		if seen[p.Addr().Is4()] {
			return false
		}
		seen[p.Addr().Is4()] = true
	}
	return true
}

// poolCIDRs lists the pools for pods.
func poolCIDRs(spec *operatorv1.NetworkSpec) []string {
	cidrs := make([]string, 0, len(spec.ClusterNetwork))
	for _, n := range spec.ClusterNetwork {
		cidrs = append(cidrs, n.CIDR)
	}
	return cidrs
}

// arguments returns the arguments without the API type of their values.
func arguments(settings *osv1.ProxyConfig) map[string][]string {
	plain := make(map[string][]string, len(settings.ProxyArguments))
	for name, values := range settings.ProxyArguments {
		plain[name] = values
	}
	return plain
}

// firstIsIPv6 reports whether the first pool for pods is an IPv6 pool.
func firstIsIPv6(spec *operatorv1.NetworkSpec) bool {
	if len(spec.ClusterNetwork) == 0 {
		return false
	}
	p, err := netaddr.ParseCIDR(spec.ClusterNetwork[0].CIDR)
	return err == nil && p.Addr().Is6()
}

package serviceproxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsv1 "k8s.io/component-base/logs/api/v1"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// criticalOOMScore is the OOM score that the kubelet sets for pods of priority system-node-critical. kube-proxy's default
// is lower, which would require a capability that its container does not have.
const criticalOOMScore = -997

// Configuration returns the configuration of kube-proxy for a filled specification. It serves metrics on a port of the loopback
// address. keepConntrackMax is that of facts.Cluster.
func Configuration(spec *operatorv1.NetworkSpec, metricsPort uint16, keepConntrackMax bool) (*Config, error) {
	settings := spec.KubeProxyConfig
	if settings == nil {
		settings = &osv1.ProxyConfig{}
	}
	c := &Config{TypeMeta: metav1.TypeMeta{APIVersion: kubeproxyv1alpha1.SchemeGroupVersion.String(), Kind: "KubeProxyConfiguration"}}
	c.Logging.Verbosity = verbosity(spec.LogLevel)
	if errs := apply(c, arguments(settings), nil); len(errs) > 0 {
		return nil, fmt.Errorf("translate the arguments of kube-proxy: %w", errs.ToAggregate())
	}
	if c.BindAddress == "" {
		c.BindAddress = settings.BindAddress
	}
	all := netip.IPv4Unspecified()
	if bindsIPv6(c) {
		all = netip.IPv6Unspecified()
	}
	c.HealthzBindAddress = netip.AddrPortFrom(all, HealthzPort).String()
	c.MetricsBindAddress = metricsAddress(c, metricsPort).String()
	if c.IPTables.SyncPeriod.Duration == 0 {
		d, err := parseDuration(settings.IptablesSyncPeriod, 1)
		if err != nil {
			return nil, fmt.Errorf("read the sync period of kube-proxy: %q %w", settings.IptablesSyncPeriod, err)
		}
		setSyncPeriod(c, d)
	}
	if c.DetectLocalMode == "" {
		c.DetectLocalMode = localClusterCIDR
	}
	if c.ClusterCIDR == "" && c.DetectLocalMode == localClusterCIDR {
		c.ClusterCIDR = strings.Join(poolCIDRs(spec), ",")
	}
	// If the user sets one of the two arguments, kube-proxy sizes the table.
	if keepConntrackMax && c.Conntrack.MaxPerCore == nil && c.Conntrack.Min == nil {
		c.Conntrack.MaxPerCore, c.Conntrack.Min = new(int32), new(int32)
	}
	if c.OOMScoreAdj == nil {
		score := int32(criticalOOMScore)
		c.OOMScoreAdj = &score
	}
	return c, nil
}

// bindsIPv6 reports whether the addresses for probes and metrics are IPv6 addresses.
func bindsIPv6(c *Config) bool {
	a, err := parseAddress(c.BindAddress)
	return err == nil && a.Is6()
}

// metricsAddress returns the address of kube-proxy's metrics.
func metricsAddress(c *Config, port uint16) netip.AddrPort {
	if bindsIPv6(c) {
		return netip.AddrPortFrom(netip.IPv6Loopback(), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// MetricsUpstream returns the address of the metrics of a kube-proxy with a configuration.
func MetricsUpstream(c *Config) (netip.AddrPort, error) {
	address, err := netip.ParseAddrPort(c.MetricsBindAddress)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read the address of kube-proxy's metrics: %w", err)
	}
	return address, nil
}

// Unprivileged returns the configuration of the main container: without the sysctls of connection tracking, which the init container
// sets. kube-proxy compares them at each start and exits if one differs that it cannot write, so that another process on the node that
// changes one, such as TuneD, would stop it permanently.
func Unprivileged(c *Config) *Config {
	out := c.DeepCopy()
	// 0 keeps the value of the node.
	out.Conntrack = kubeproxyv1alpha1.KubeProxyConntrackConfiguration{
		MaxPerCore: new(int32), Min: new(int32), TCPEstablishedTimeout: new(metav1.Duration), TCPCloseWaitTimeout: new(metav1.Duration),
	}
	return out
}

// verbosity returns the verbosity of Kubernetes components that OpenShift documents for a log level.
func verbosity(level osv1.LogLevel) logsv1.VerbosityLevel {
	switch level {
	case osv1.Debug:
		return 4
	case osv1.Trace:
		return 6
	case osv1.TraceAll:
		return 8
	}
	return 2
}

// Encode returns a configuration as YAML without nulls and empty texts, which both mean kube-proxy's defaults.
func Encode(c *Config) (string, error) {
	raw, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the configuration of kube-proxy: %w", err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		return "", fmt.Errorf("encode the configuration of kube-proxy: %w", err)
	}
	prune(tree)
	text, err := yaml.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("encode the configuration of kube-proxy: %w", err)
	}
	return string(text), nil
}

func prune(tree map[string]any) {
	for key, value := range tree {
		if v, ok := value.(map[string]any); ok {
			prune(v)
			if len(v) == 0 {
				delete(tree, key)
			}
		} else if value == nil || value == "" {
			delete(tree, key)
		}
	}
}

// CheckArguments returns the arguments of the operator's binary for the check before kube-proxy starts on the node $(NODE_NAME): whether the
// kernel supports the mode, and the API server is reachable.
func CheckArguments(c *Config, spec *operatorv1.NetworkSpec) []string {
	args := append([]string{"check-proxy-mode", "--node=$(NODE_NAME)", "--mode=" + string(c.Mode)}, families(spec)...)
	switch {
	case string(c.Mode) == ModeNFTables:
		args = append(args, "--minimum-kernel="+nftablesKernel().String())
	case string(c.Mode) == ModeIPVS && c.IPVS.Scheduler != "":
		args = append(args, "--ipvs-scheduler="+c.IPVS.Scheduler)
	}
	return args
}

// families returns the flags for the IP families of the pools; that of IPv4 if there is none, to which kube-proxy binds then.
func families(spec *operatorv1.NetworkSpec) []string {
	var out []string
	for _, cidr := range poolCIDRs(spec) {
		flag := "--ipv4"
		if p, err := netaddr.ParseCIDR(cidr); err == nil && p.Addr().Is6() {
			flag = "--ipv6"
		}
		if !slices.Contains(out, flag) {
			out = append(out, flag)
		}
	}
	if len(out) == 0 {
		return []string{"--ipv4"}
	}
	return out
}

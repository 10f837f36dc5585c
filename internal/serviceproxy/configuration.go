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

// criticalOOMScore is what the kubelet gives to pods of priority system-node-critical. kube-proxy's own default is
// lower, and to lower it takes a capability that its container does not have.
const criticalOOMScore = -997

// Configuration is what kube-proxy reads, from a filled specification. It serves metrics on a port of the loopback address.
// keepConntrackMax is that of facts.Cluster.
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
	// An argument of the user for either of the two is an order to size the table.
	if keepConntrackMax && c.Conntrack.MaxPerCore == nil && c.Conntrack.Min == nil {
		c.Conntrack.MaxPerCore, c.Conntrack.Min = new(int32), new(int32)
	}
	if c.OOMScoreAdj == nil {
		score := int32(criticalOOMScore)
		c.OOMScoreAdj = &score
	}
	return c, nil
}

// bindsIPv6 reports whether the ports for probes and metrics are those of IPv6.
func bindsIPv6(c *Config) bool {
	a, err := parseAddress(c.BindAddress)
	return err == nil && a.Is6()
}

// metricsAddress is where kube-proxy serves its metrics.
func metricsAddress(c *Config, port uint16) netip.AddrPort {
	if bindsIPv6(c) {
		return netip.AddrPortFrom(netip.IPv6Loopback(), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// MetricsUpstream is the address on which a kube-proxy with a configuration serves its metrics.
func MetricsUpstream(c *Config) (netip.AddrPort, error) {
	address, err := netip.ParseAddrPort(c.MetricsBindAddress)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read the address of kube-proxy's metrics: %w", err)
	}
	return address, nil
}

// Unprivileged is the configuration of the container that goes on to run: all but the sysctls of connection tracking, which the init
// container has set. kube-proxy compares them at each start and ends if one differs that it cannot write, so another program on the node that
// changes one, such as TuneD, would stop it for good.
func Unprivileged(c *Config) *Config {
	out := c.DeepCopy()
	// In each field 0 keeps what the node has.
	out.Conntrack = kubeproxyv1alpha1.KubeProxyConntrackConfiguration{
		MaxPerCore: new(int32), Min: new(int32), TCPEstablishedTimeout: new(metav1.Duration), TCPCloseWaitTimeout: new(metav1.Duration),
	}
	return out
}

// verbosity is the verbosity of Kubernetes' programs that OpenShift documents for a log level.
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

// Encode writes a configuration as YAML, without what is null or empty text: both mean kube-proxy's default.
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

// CheckArguments are the arguments of the operator's binary with which it checks, before kube-proxy starts on the node $(NODE_NAME), that the
// kernel has what the mode needs, and that the API server answers.
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

// families are the flags for the families of the pools for pods; IPv4 if there is none, as kube-proxy binds then.
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

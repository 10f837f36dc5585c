package kubeproxy

import (
	"fmt"
	"net/netip"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsv1 "k8s.io/component-base/logs/api/v1"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// criticalOOMScore is what the kubelet gives to pods of priority system-node-critical. kube-proxy's own default is
// lower, and to lower it takes a capability that its container does not have.
const criticalOOMScore = -997

// configuration is what kube-proxy reads, from a filled specification. keepConntrackMax is that of facts.Cluster.
func configuration(spec *operatorv1.NetworkSpec, keepConntrackMax bool) (*config, error) {
	settings := spec.KubeProxyConfig
	if settings == nil {
		settings = &osv1.ProxyConfig{}
	}
	c := &config{TypeMeta: metav1.TypeMeta{APIVersion: kubeproxyv1alpha1.SchemeGroupVersion.String(), Kind: "KubeProxyConfiguration"}}
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
	c.MetricsBindAddress = metricsAddress(c).String()
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
func bindsIPv6(c *config) bool {
	a, err := parseAddress(c.BindAddress)
	return err == nil && a.Is6()
}

// metricsAddress is where kube-proxy serves its metrics.
func metricsAddress(c *config) netip.AddrPort {
	if bindsIPv6(c) {
		return netip.AddrPortFrom(netip.IPv6Loopback(), MetricsPort)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), MetricsPort)
}

// unprivileged is the configuration of the container that goes on to run: all but the sysctls of connection tracking, which the init
// container has set. kube-proxy compares them at each start and ends if one differs that it cannot write, so another program on the node that
// changes one, such as TuneD, would stop it for good.
func unprivileged(c *config) *config {
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

// encode writes a configuration as YAML, without what is null or empty text: both mean kube-proxy's default.
func encode(c *config) (string, error) {
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

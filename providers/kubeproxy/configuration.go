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

// configuration is what kube-proxy reads, from a filled specification.
func configuration(spec *operatorv1.NetworkSpec) (*config, error) {
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
	all, loopback := netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if a, err := parseAddress(c.BindAddress); err == nil && a.Is6() {
		all, loopback = netip.IPv6Unspecified(), netip.IPv6Loopback()
	}
	c.HealthzBindAddress = netip.AddrPortFrom(all, HealthzPort).String()
	c.MetricsBindAddress = netip.AddrPortFrom(loopback, MetricsPort).String()
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
	setQuiet(c)
	return c, nil
}

// setQuiet sets what would be written to the node otherwise, and cannot be from where kube-proxy runs.
func setQuiet(c *config) {
	// The size of the kernel's table of connections is one for the machine: it cannot be set from a network
	// namespace, and an administrator who has set it does not want it changed. 0 leaves it alone.
	leave := int32(0)
	if c.Conntrack.MaxPerCore == nil {
		c.Conntrack.MaxPerCore = &leave
	}
	if c.Conntrack.Min == nil {
		c.Conntrack.Min = &leave
	}
	if c.OOMScoreAdj == nil {
		score := int32(criticalOOMScore)
		c.OOMScoreAdj = &score
	}
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

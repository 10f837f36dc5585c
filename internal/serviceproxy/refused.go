package serviceproxy

import (
	"maps"
	"slices"
)

// refused returns the reason why a flag that kube-proxy has, or had, must not be set; "" if there is none.
func refused(name string, values []string) string {
	switch name {
	case "metrics-port", "healthz-port":
		if tolerated(name, values) {
			return ""
		}
		return "--" + name + " cannot be overridden"
	case "feature-gates", "healthz-bind-address", "metrics-bind-address":
		return "--" + name + " cannot be overridden"
	case "boot-id-file", "machine-id-file", "config", "write-config-to", "cleanup", "init-only", "kubeconfig", "master", "hostname-override", "version", "help":
		return "--" + name + " cannot be overridden: it is how the operator starts kube-proxy; remove it"
	case "log-json-info-buffer-size", "log-json-split-stream", "log-text-info-buffer-size", "log-text-split-stream":
		return "--" + name + " needs the feature gate LoggingAlphaOptions, which the operator does not set; remove it"
	case "show-hidden-metrics-for-version":
		return "--" + name + " depends on the version of kube-proxy, which the operator chooses; remove it"
	case "cleanup-ipvs", "conntrack-max", "proxy-port-range", "resource-container", "udp-timeout":
		return kubeProxyVersion + " does not have --" + name + " any more; remove it"
	case "enable-dsr", "forward-healthcheck-vip", "network-name", "root-hnsendpoint-name", "source-vip", "windows-service":
		return "--" + name + " is for Windows nodes, on which the operator deploys nothing; remove it"
	}
	return ""
}

// tolerated reports whether an argument is ignored: those in objects of old OpenShift clusters that never had an effect.
func tolerated(name string, values []string) bool {
	return name == "metrics-port" && slices.Equal(values, []string{"9101"}) ||
		name == "healthz-port" && slices.Equal(values, []string{"10256"})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

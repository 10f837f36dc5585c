package serviceproxy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsv1 "k8s.io/component-base/logs/api/v1"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
)

// translated maps the names of flags to the fields that they set. Source: the flags of kube-proxy 1.36, cmd/kube-proxy/app
// in k8s.io/kubernetes, and the ranges that its validation allows.
func translated() map[string]argument {
	all := map[string]argument{}
	for _, group := range []map[string]argument{general(), local(), iptables(), ipvs(), conntrack(), logging()} {
		for name, a := range group {
			all[name] = a
		}
	}
	return all
}

func general() map[string]argument {
	return map[string]argument{
		"proxy-mode": word(func(c *Config, v string) { c.Mode = kubeproxyv1alpha1.ProxyMode(v) }, "nftables", "iptables", "ipvs"),
		"bind-address": {set: func(c *Config, v string) error {
			a, err := parseAddress(v)
			c.BindAddress = a.String()
			return err
		}},
		"bind-address-hard-fail": boolean(func(c *Config, v bool) { c.BindAddressHardFail = v }),
		"config-sync-period":     duration(1, func(c *Config, v time.Duration) { c.ConfigSyncPeriod.Duration = v }),
		"kube-api-burst":         integer(0, math.MaxInt32, func(c *Config, v int32) { c.ClientConnection.Burst = v }),
		"kube-api-qps":           {set: setQPS},
		"kube-api-content-type": word(func(c *Config, v string) { c.ClientConnection.ContentType = v },
			"application/vnd.kubernetes.protobuf", "application/json"),
		"masquerade-all": boolean(func(c *Config, v bool) { c.IPTables.MasqueradeAll, c.NFTables.MasqueradeAll = v, v }),
		"nodeport-addresses": {list: true, set: func(c *Config, v string) error {
			if v != "primary" {
				if _, err := parseCIDR(v); err != nil {
					return fmt.Errorf("%w, or write primary for the addresses of the Node object", err)
				}
			}
			c.NodePortAddresses = append(c.NodePortAddresses, v)
			return nil
		}},
		"oom-score-adj": integer(-1000, 1000, func(c *Config, v int32) { c.OOMScoreAdj = &v }),
		"profiling":     boolean(func(c *Config, v bool) { c.EnableProfiling = v }),
	}
}

// setQPS parses a rate. 0 would mean "not set", as in the flag.
func setQPS(c *Config, v string) error {
	n, err := strconv.ParseFloat(v, 32)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return errors.New("is not a number")
	}
	c.ClientConnection.QPS = float32(n)
	return nil
}

// local returns the flags for the detection of traffic from pods of the node.
func local() map[string]argument {
	return map[string]argument{
		"cluster-cidr": {list: true, set: func(c *Config, v string) error {
			if _, err := parseCIDR(v); err != nil {
				return err
			}
			c.ClusterCIDR = strings.TrimPrefix(c.ClusterCIDR+","+v, ",")
			return nil
		}},
		"detect-local-mode": word(func(c *Config, v string) { c.DetectLocalMode = kubeproxyv1alpha1.LocalMode(v) },
			"ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"),
		"pod-bridge-interface":      name(func(c *Config, v string) { c.DetectLocal.BridgeInterface = v }),
		"pod-interface-name-prefix": name(func(c *Config, v string) { c.DetectLocal.InterfaceNamePrefix = v }),
	}
}

// iptables returns the flags of the iptables mode. Those for periods also affect the nftables mode, as on kube-proxy's
// command line.
func iptables() map[string]argument {
	return map[string]argument{
		"iptables-localhost-nodeports": boolean(func(c *Config, v bool) { c.IPTables.LocalhostNodePorts = &v }),
		"iptables-masquerade-bit":      integer(0, 31, func(c *Config, v int32) { c.IPTables.MasqueradeBit = &v }),
		"iptables-sync-period":         duration(1, setSyncPeriod),
		"iptables-min-sync-period": duration(0, func(c *Config, v time.Duration) {
			// As a flag 0 means immediately; as a field it means "not set", which is 1s.
			v = max(v, 1)
			c.IPTables.MinSyncPeriod.Duration, c.NFTables.MinSyncPeriod.Duration = v, v
		}),
	}
}

func setSyncPeriod(c *Config, v time.Duration) {
	c.IPTables.SyncPeriod.Duration, c.NFTables.SyncPeriod.Duration = v, v
}

func ipvs() map[string]argument {
	return map[string]argument{
		"ipvs-exclude-cidrs": {list: true, set: func(c *Config, v string) error {
			if _, err := parseCIDR(v); err != nil {
				return err
			}
			c.IPVS.ExcludeCIDRs = append(c.IPVS.ExcludeCIDRs, v)
			return nil
		}},
		"ipvs-min-sync-period": duration(0, func(c *Config, v time.Duration) { c.IPVS.MinSyncPeriod.Duration = v }),
		"ipvs-scheduler": word(func(c *Config, v string) { c.IPVS.Scheduler = v },
			"rr", "wrr", "lc", "wlc", "lblc", "lblcr", "dh", "sh", "mh", "sed", "nq", "fo", "ovf"),
		"ipvs-strict-arp":     boolean(func(c *Config, v bool) { c.IPVS.StrictARP = v }),
		"ipvs-sync-period":    duration(1, func(c *Config, v time.Duration) { c.IPVS.SyncPeriod.Duration = v }),
		"ipvs-tcp-timeout":    duration(0, func(c *Config, v time.Duration) { c.IPVS.TCPTimeout.Duration = v }),
		"ipvs-tcpfin-timeout": duration(0, func(c *Config, v time.Duration) { c.IPVS.TCPFinTimeout.Duration = v }),
		"ipvs-udp-timeout":    duration(0, func(c *Config, v time.Duration) { c.IPVS.UDPTimeout.Duration = v }),
	}
}

func conntrack() map[string]argument {
	return map[string]argument{
		"conntrack-max-per-core":   integer(0, math.MaxInt32, func(c *Config, v int32) { c.Conntrack.MaxPerCore = &v }),
		"conntrack-min":            integer(0, math.MaxInt32, func(c *Config, v int32) { c.Conntrack.Min = &v }),
		"conntrack-tcp-be-liberal": boolean(func(c *Config, v bool) { c.Conntrack.TCPBeLiberal = v }),
		"conntrack-tcp-timeout-close-wait": duration(0, func(c *Config, v time.Duration) {
			c.Conntrack.TCPCloseWaitTimeout = &metav1.Duration{Duration: v}
		}),
		"conntrack-tcp-timeout-established": duration(0, func(c *Config, v time.Duration) {
			c.Conntrack.TCPEstablishedTimeout = &metav1.Duration{Duration: v}
		}),
		"conntrack-udp-timeout":        duration(0, func(c *Config, v time.Duration) { c.Conntrack.UDPTimeout.Duration = v }),
		"conntrack-udp-timeout-stream": duration(0, func(c *Config, v time.Duration) { c.Conntrack.UDPStreamTimeout.Duration = v }),
	}
}

func logging() map[string]argument {
	return map[string]argument{
		"log-flush-frequency": duration(1, func(c *Config, v time.Duration) {
			c.Logging.FlushFrequency = logsv1.TimeOrMetaDuration{Duration: metav1.Duration{Duration: v}, SerializeAsString: true}
		}),
		"logging-format": word(func(c *Config, v string) { c.Logging.Format = v }, "text", "json"),
		"v":              integer(0, math.MaxInt32, func(c *Config, v int32) { c.Logging.Verbosity = logsv1.VerbosityLevel(v) }),
		"vmodule":        {list: true, set: addVModule},
	}
}

// addVModule parses pattern=level.
func addVModule(c *Config, v string) error {
	pattern, level, ok := strings.Cut(v, "=")
	n, err := parseInt(level, 0, math.MaxInt32)
	if !ok || pattern == "" || err != nil {
		return errors.New("is not of the form pattern=level, for example proxier=4")
	}
	c.Logging.VModule = append(c.Logging.VModule, logsv1.VModuleItem{FilePattern: pattern, Verbosity: logsv1.VerbosityLevel(n)})
	return nil
}

func duration(least time.Duration, set func(*Config, time.Duration)) argument {
	return argument{set: func(c *Config, v string) error {
		d, err := parseDuration(v, least)
		if err == nil {
			set(c, d)
		}
		return err
	}}
}

func integer(lo, hi int32, set func(*Config, int32)) argument {
	return argument{set: func(c *Config, v string) error {
		n, err := parseInt(v, lo, hi)
		if err == nil {
			set(c, n)
		}
		return err
	}}
}

func boolean(set func(*Config, bool)) argument {
	return argument{set: func(c *Config, v string) error {
		b, err := parseBool(v)
		if err == nil {
			set(c, b)
		}
		return err
	}}
}

func word(set func(*Config, string), allowed ...string) argument {
	return argument{set: func(c *Config, v string) error {
		w, err := parseWord(v, allowed...)
		if err == nil {
			set(c, w)
		}
		return err
	}}
}

func name(set func(*Config, string)) argument {
	return argument{set: func(c *Config, v string) error {
		n, err := parseName(v)
		if err == nil {
			set(c, n)
		}
		return err
	}}
}

package config

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// Setting is a setting of ovnkube.
type Setting struct {
	// Flag is the name of the argument. Alias is an earlier name.
	Flag, Alias string
	// Variable is the environment variable. Section and Key are its place in the file. Empty ones do not exist.
	Variable, Section, Key string
	// Default is the default value.
	Default string
	// Usage is the help text. IsBool is true for flags without a value.
	Usage  string
	IsBool bool
	set    func(*Config, string) error
	// check validates the value against the other settings, when all of them are set; nil if they do not matter.
	check func(Config, string) error
}

func (s Setting) inFile() string {
	if s.Key == "" {
		return ""
	}
	return s.Section + "." + s.Key
}

// Settings returns all settings in the order of the help.
func Settings() []Setting { return settings() }

func settings() []Setting {
	return slices.Concat(roles(), cluster(), databases(), network(), process(), directories())
}

func roles() []Setting {
	return []Setting{
		{Flag: "init-master", Usage: "run as a master on the node of this name", set: text(func(c *Config) *string { return &c.Master })},
		{Flag: "net-controller", IsBool: true, Usage: "run the controllers; a master always does", set: func(c *Config, v string) (err error) {
			c.NetController, err = boolean(v)
			return err
		}},
		{Flag: "init-node", Usage: "run as the agent of the node of this name", set: text(func(c *Config) *string { return &c.Node })},
		{Flag: "cleanup-node", Usage: "remove the remains of the agent of the node of this name, after it was stopped", set: text(func(c *Config) *string { return &c.CleanupNode })},
	}
}

func cluster() []Setting {
	return []Setting{
		{Flag: "cluster-subnets", Alias: "cluster-subnet", Variable: agentconfig.VariableClusterNetwork, Section: "default", Key: "cluster-subnets",
			Usage: "pools of the cluster network, separated by commas: ADDRESS/LENGTH/LENGTH-OF-A-NODE", set: list(func(c *Config) *[]Pool { return &c.Pools }, parsePool)},
		{Flag: "k8s-service-cidrs", Alias: "service-cluster-ip-range", Variable: agentconfig.VariableServiceNetwork, Section: "kubernetes", Key: "service-cidrs",
			Usage: "Service CIDRs, separated by commas", set: list(func(c *Config) *[]netip.Prefix { return &c.Services }, parseCIDR)},
		{Flag: "k8s-apiserver", Variable: agentconfig.VariableAPIServer, Section: "kubernetes", Key: "apiserver",
			Usage: "URL of the Kubernetes API; in a pod the default is that of the pod", set: text(func(c *Config) *string { return &c.APIServer })},
		{Flag: "k8s-kubeconfig", Variable: "KUBECONFIG", Section: "kubernetes", Key: "kubeconfig", Usage: "kubeconfig file", set: text(func(c *Config) *string { return &c.Kubeconfig })},
		{Flag: "k8s-token", Variable: "K8S_TOKEN", Section: "kubernetes", Key: "token", Usage: "token for the Kubernetes API; in a pod the default is that of the pod",
			set: text(func(c *Config) *string { return &c.Token })},
		{Flag: "k8s-cacert", Variable: "K8S_CACERT", Section: "kubernetes", Key: "cacert", Usage: "file with the CA of the Kubernetes API; in a pod the default is that of the pod",
			set: text(func(c *Config) *string { return &c.CAFile })},
	}
}

func databases() []Setting {
	return []Setting{
		{Flag: "nb-address", Variable: agentconfig.VariableNorth, Section: "ovnnorth", Key: "address",
			Usage: "northbound database: only that of the node, unix:PATH with ovnnb_db.sock in --ovn-run-dir, which is also the default", set: noEffect, check: ownNorthbound},
		{Flag: "sb-address", Variable: agentconfig.VariableSouth, Section: "ovnsouth", Key: "address",
			Usage: "southbound database, for nodes: unix:PATH, tcp:IP:PORT or ssl:IP:PORT, separated by commas", set: endpoints(func(c *Config) *string { return &c.South })},
		{Flag: "sb-client-privkey", Section: "ovnsouth", Key: "client-privkey", Default: agentconfig.CertificateDir + "/tls.key",
			Usage: "file with the private key of the databases' servers and clients", set: file(func(c *Config) *string { return &c.PrivateKey })},
		{Flag: "sb-client-cert", Section: "ovnsouth", Key: "client-cert", Default: agentconfig.CertificateDir + "/tls.crt",
			Usage: "file with their certificate", set: file(func(c *Config) *string { return &c.Certificate })},
		{Flag: "sb-client-cacert", Section: "ovnsouth", Key: "client-cacert", Default: agentconfig.CADir + "/ca-bundle.crt",
			Usage: "file with the CA that both trust", set: file(func(c *Config) *string { return &c.CA })},
	}
}

func network() []Setting {
	return []Setting{
		{Flag: "enable-multi-network", Variable: agentconfig.VariableMultiNetwork, Section: "ovnkubernetesfeature", Key: "enable-multi-network", IsBool: true,
			Usage: "add multus-shim to the CNI configuration, which attaches pods to additional networks", set: func(c *Config, v string) (err error) {
				c.MultiNetwork, err = boolean(v)
				return err
			}},
		{Flag: "mtu", Variable: agentconfig.VariableMTU, Section: "default", Key: "mtu", Default: "1400", Usage: "MTU of pods in bytes", set: func(c *Config, v string) (err error) {
			c.MTU, err = integer(v, 576, 65535)
			return err
		}},
		{Flag: "encap-ip", Variable: agentconfig.VariableNodeAddress, Section: "default", Key: "encap-ip",
			Usage: "addresses of the node, one of each IP family, separated by commas; other nodes send Geneve packets to that of the family of the first pool",
			set:   list(func(c *Config) *[]netip.Addr { return &c.NodeAddresses }, parseAddress)},
		{Flag: "encap-port", Variable: agentconfig.VariableTunnelPort, Section: "default", Key: "encap-port", Default: "6081",
			Usage: "UDP port of Geneve", set: func(c *Config, v string) error {
				n, err := integer(v, 1, 65535)
				c.TunnelPort = uint16(n)
				return err
			}},
		{Flag: "encap-type", Section: "default", Key: "encap-type", Default: "geneve", Usage: "protocol of tunnels: geneve", set: only("geneve")},
		{Flag: "gateway-mode", Variable: agentconfig.VariableGatewayMode, Section: "gateway", Key: "mode", Default: agentconfig.GatewayLocal,
			Usage: "how pods leave the cluster: local, through the management port and the routes of their node", set: only(agentconfig.GatewayLocal)},
		{Flag: "ovs-datapath", Variable: "OVS_DATAPATH", Section: "default", Key: "ovs-datapath", Default: DatapathAuto,
			Usage: "datapath of Open vSwitch: system (the kernel's), userspace, or auto, which is system where the kernel has it",
			set:   choice(func(c *Config) *string { return &c.Datapath }, DatapathAuto, DatapathSystem, DatapathUserspace)},
		{Flag: "inactivity-probe", Section: "default", Key: "inactivity-probe", Default: "100000",
			Usage: "milliseconds of silence after which ovn-controller probes the southbound database", set: func(c *Config, v string) error {
				n, err := integer(v, 1000, 3_600_000)
				c.Probe = time.Duration(n) * time.Millisecond
				return err
			}},
	}
}

func process() []Setting {
	return []Setting{
		{Flag: "loglevel", Variable: agentconfig.VariableLogLevel, Section: "logging", Key: "loglevel", Default: "info",
			Usage: "what to log: debug, info, warn or error; 5 is debug, 4 is info", set: func(c *Config, v string) error {
				if level, known := map[string]string{"5": "debug", "4": "info", "3": "warn", "2": "error", "1": "error", "0": "error"}[v]; known {
					v = level
				}
				return choice(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")(c, v)
			}},
		{Flag: "health-address", Variable: agentconfig.VariableHealth, Usage: "address of /healthz, /readyz and /metrics; the default depends on the role",
			set: func(c *Config, v string) error {
				if v == "" {
					return nil
				}
				if a, err := netip.ParseAddrPort(v); err != nil {
					return fmt.Errorf("%q must be an IP address and a port, such as %s", v, agentconfig.HealthNode)
				} else if a.Port() == 0 {
					return fmt.Errorf("%q: port 0 is not usable", v)
				}
				c.Health = v
				return nil
			}},
	}
}

func directories() []Setting {
	dir := func(flag, section, key, value, usage string, at func(*Config) *string) Setting {
		return Setting{Flag: flag, Section: section, Key: key, Default: value, Usage: usage, set: file(at)}
	}
	return []Setting{
		dir("cni-conf-dir", "cni", "conf-dir", agentconfig.PluginConfDir, "directory of CNI configurations", func(c *Config) *string { return &c.Directories.PluginConf }),
		dir("cni-bin-dir", "cni", "bin-dir", agentconfig.HostPluginDir, "the node's directory of CNI plugins", func(c *Config) *string { return &c.Directories.Plugins }),
		dir("cni-server-dir", "cni", "server-dir", agentconfig.ServerDir, "directory of the socket of the CNI plugin, below /run", func(c *Config) *string { return &c.Directories.Server }),
		dir("state-dir", "", "", agentconfig.StateDir, "directory of the agent's state", func(c *Config) *string { return &c.Directories.State }),
		dir("ovs-run-dir", "", "", agentconfig.SwitchRunDir, "directory of Open vSwitch's sockets", func(c *Config) *string { return &c.Directories.SwitchRun }),
		dir("ovs-data-dir", "", "", agentconfig.SwitchDataDir, "directory of Open vSwitch's database", func(c *Config) *string { return &c.Directories.SwitchData }),
		dir("ovn-run-dir", "", "", agentconfig.RunDir, "directory of OVN's sockets", func(c *Config) *string { return &c.Directories.Run }),
		dir("ovn-data-dir", "", "", agentconfig.DataDir, "directory of OVN's databases", func(c *Config) *string { return &c.Directories.Data }),
		dir("mtu-file", "", "", agentconfig.MTUFile, "file with the MTU, which changes while the agent runs; without it --mtu applies", func(c *Config) *string { return &c.Directories.MTU }),
		dir("network-flows", "", "", agentconfig.NetworkFlowsFile, "file with the collectors of flow records; it need not exist", func(c *Config) *string { return &c.Directories.NetworkFlows }),
		dir("policy-audit", "", "", agentconfig.AuditFile, "file with the settings of audit messages of NetworkPolicies; it need not exist", func(c *Config) *string { return &c.Directories.PolicyAudit }),
		dir("policy-audit-log", "", "", agentconfig.AuditLog, "file to which ovn-controller writes audit messages of NetworkPolicies", func(c *Config) *string { return &c.Directories.AuditLog }),
		dir("ipsec-config-dir", "", "", agentconfig.IPsecConfigDir, "directory with the settings of IPsec", func(c *Config) *string { return &c.IPsec.ConfigDir }),
		dir("ipsec-cacert", "", "", agentconfig.IPsecCADir+"/ca-bundle.crt", "file with the CA of nodes' certificates for IPsec", func(c *Config) *string { return &c.IPsec.CA }),
		dir("ipsec-run-dir", "", "", "/run/ovn-ipsec", "directory of charon's socket", func(c *Config) *string { return &c.IPsec.RunDir }),
		dir("ipsec-charon", "", "", "/usr/lib/ipsec/charon", "the daemon charon of strongSwan", func(c *Config) *string { return &c.IPsec.Charon }),
		{Flag: "pod-name", Variable: agentconfig.VariablePod, Usage: "name of the agent's pod, to which it reports", set: text(func(c *Config) *string { return &c.Pod })},
		dir("proc-sys", "", "", "/proc/sys", "directory of kernel parameters", func(c *Config) *string { return &c.Directories.ProcSys }),
		{Flag: "ovs-namespace", Default: "ovs", Usage: "network namespace of Open vSwitch with the userspace datapath", set: func(c *Config, v string) error {
			if strings.ContainsAny(v, "/ ") || v == "" || v[0] == '.' {
				return fmt.Errorf("%q is not the name of a network namespace", v)
			}
			c.Directories.SwitchNamespace = v
			return nil
		}},
	}
}

func text(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error { *at(c) = v; return nil }
}

func file(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !path.IsAbs(v) || path.Clean(v) != v {
			return fmt.Errorf("%q must be an absolute path in its shortest form", v)
		}
		*at(c) = v
		return nil
	}
}

func choice(at func(*Config) *string, values ...string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !slices.Contains(values, v) {
			return fmt.Errorf("%q is not one of %s", v, strings.Join(values, ", "))
		}
		*at(c) = v
		return nil
	}
}

// noEffect is for settings of which a check accepts only one value.
func noEffect(*Config, string) error { return nil }

// ownNorthbound accepts only the northbound database of the node: each master has one, which it computes from the Kubernetes API.
func ownNorthbound(c Config, v string) error {
	if own := "unix:" + c.Directories.NorthDatabase().Socket; v != "" && v != own {
		return fmt.Errorf("%q is not the northbound database of this node, and a master uses no other one; write %s, or leave it out", v, own)
	}
	return nil
}

func only(value string) func(*Config, string) error {
	return choice(func(*Config) *string { return new(string) }, value)
}

func integer(v string, least, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q must be a number from %d to %d", v, least, most)
	}
	return n, nil
}

func boolean(v string) (bool, error) {
	if v == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("%q is not true or false", v)
	}
	return b, nil
}

func list[T any](at func(*Config) *[]T, parse func(string) (T, error)) func(*Config, string) error {
	return func(c *Config, v string) error {
		for entry := range strings.SplitSeq(v, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			value, err := parse(entry)
			if err != nil {
				return err
			}
			*at(c) = append(*at(c), value)
		}
		return nil
	}
}

// endpoints parses OVSDB endpoints. It accepts the notation of early versions, tcp://IP:PORT.
func endpoints(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		var out []string
		for entry := range strings.SplitSeq(v, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			kind, address, _ := strings.Cut(entry, ":")
			if kind != "unix" {
				address = strings.TrimPrefix(address, "//")
			}
			host, port, err := net.SplitHostPort(address)
			if _, ipErr := netip.ParseAddr(host); kind != "unix" && (err != nil || ipErr != nil || port == "" || kind != "tcp" && kind != "ssl") || kind == "unix" && !path.IsAbs(address) {
				return fmt.Errorf("%q must be unix:PATH, tcp:IP:PORT or ssl:IP:PORT", entry)
			}
			out = append(out, kind+":"+address)
		}
		*at(c) = strings.Join(out, ",")
		return nil
	}
}

// Package config is the configuration of ovnkube: its arguments, environment variables and the file ovn_k8s.conf. An argument
// overrides a variable, and a variable the file. The names are those of OVN-Kubernetes; settings of it that have no effect here are refused
// by name. It is pure: the caller reads the file and the environment.
package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// File is where the file is.
const File = "/etc/openvswitch/ovn_k8s.conf"

// Config is the configuration.
type Config struct {
	// Master and Node are the name of the node if the program is a master, and if it is the node's agent; CleanupNode if it removes what
	// an agent has left. Empty ones are roles that the program does not have.
	Master, Node, CleanupNode string
	// NetController is accepted with Master, which always includes the controllers.
	NetController bool
	// APIServer, Token and CAFile reach the Kubernetes API, or Kubeconfig does. All may be empty in pods.
	APIServer, Kubeconfig, Token, CAFile string
	// Pools are the pools of the cluster network, Services the Service CIDRs.
	Pools    []Pool
	Services []netip.Prefix
	// North and South are the endpoints of the databases in OVSDB's notation, separated by commas.
	North, South string
	// PrivateKey, Certificate and Authority are the files of TLS.
	PrivateKey, Certificate, Authority string
	// MTU is that of pods, in bytes.
	MTU int
	// MultiNetwork is true if pods may have further networks, which the shim multus-shim attaches.
	MultiNetwork bool
	// TunnelAddress is the node's address, to which other nodes send Geneve packets; TunnelPort is their UDP port.
	TunnelAddress netip.Addr
	TunnelPort    uint16
	// Datapath is DatapathAuto, DatapathUserspace or DatapathSystem.
	Datapath string
	// Probe is after how much silence ovn-controller asks whether the southbound database is alive.
	Probe time.Duration
	// Pod is the name of the agent's pod, to which it reports.
	Pod string
	// IPsec is what the agent of IPsec needs beside that.
	IPsec IPsec
	// Health is the address of /healthz, /readyz and /metrics.
	Health string
	// LogLevel is debug, info, warn or error.
	LogLevel string
	// Directories are where files and sockets are.
	Directories Directories
}

// IPsec is where the agent of IPsec has its files.
type IPsec struct {
	// ConfigDir has the files of the ConfigMap, Authority is the file with the CA of nodes' certificates, RunDir has charon's socket, and must not be shared
	// with other nodes. Charon is the program.
	ConfigDir, Authority, RunDir, Charon string
}

// Pool is a pool of the cluster network.
type Pool struct {
	CIDR netip.Prefix
	// BlockLength is the prefix length of a node's block.
	BlockLength int
}

// The datapaths of Open vSwitch. DatapathAuto is the kernel's where it has one.
const (
	DatapathAuto      = "auto"
	DatapathUserspace = "userspace"
	DatapathSystem    = "system"
)

// Directories are where files and sockets are. Several nodes on one machine need different ones.
type Directories struct {
	// SwitchRun and SwitchData are Open vSwitch's, Run and Data those of OVN.
	SwitchRun, SwitchData, Run, Data string
	// Server is below /run and has the socket of the CNI plugin, State what the agent keeps.
	Server, State string
	// PluginConf and Plugins are those of the container runtime.
	PluginConf, Plugins string
	// SwitchNamespace is the name of the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace string
	// NetworkFlows is the file with the collectors of flow records.
	NetworkFlows string
	// MTU is the file with what the node has of the MTU.
	MTU string
	// PolicyAudit is the file with the settings of audit messages, AuditLog the file that they are written to.
	PolicyAudit, AuditLog string
	// ProcSys is where the kernel's settings are.
	ProcSys string
}

// SwitchSocket is the socket of Open vSwitch's database.
func (d Directories) SwitchSocket() string {
	return path.Join(d.SwitchRun, path.Base(agentconfig.SwitchSocket))
}

// SwitchControl is the control socket of ovs-vswitchd.
func (d Directories) SwitchControl() string {
	return path.Join(d.SwitchRun, path.Base(agentconfig.SwitchControl))
}

// ControllerControl is the control socket of ovn-controller.
func (d Directories) ControllerControl() string {
	return path.Join(d.Run, path.Base(agentconfig.ControllerControl))
}

// NorthdControl is the control socket of ovn-northd.
func (d Directories) NorthdControl() string {
	return path.Join(d.Run, path.Base(agentconfig.NorthdControl))
}

// PluginSocket is where the agent serves CNI.
func (d Directories) PluginSocket() string { return path.Join(d.Server, "cni", "ovn-cni-server.sock") }

// Database is one of OVN's two databases.
type Database struct {
	// Name is that of the schema, File the database, Socket where its server listens, Control the server's control socket.
	Name, File, Socket, Control string
	// Schema is the file of the schema in images.
	Schema string
}

// NorthDatabase is the northbound database.
func (d Directories) NorthDatabase() Database { return d.database("OVN_Northbound", "nb") }

// SouthDatabase is the southbound database. Masters add the address at which it is served to nodes by command of its control socket.
func (d Directories) SouthDatabase() Database { return d.database("OVN_Southbound", "sb") }

func (d Directories) database(name, short string) Database {
	return Database{
		Name: name, File: path.Join(d.Data, "ovn"+short+"_db.db"), Schema: "/usr/share/ovn/ovn-" + short + ".ovsschema",
		Socket: path.Join(d.Run, "ovn"+short+"_db.sock"), Control: path.Join(d.Run, "ovn"+short+"_db.ctl"),
	}
}

// Load returns the configuration. arguments has the flags that were given, variable returns the value of an environment variable, and file is
// the content of ovn_k8s.conf. The error names everything that is not valid.
func Load(arguments map[string]string, variable func(string) string, file []byte) (Config, error) {
	values, err := parseINI(file)
	problems := []error{err}
	for key := range values {
		if !slices.ContainsFunc(settings(), func(s Setting) bool { return s.inFile() == key }) {
			problems = append(problems, refusedKey(key))
		}
	}
	var c Config
	for _, s := range settings() {
		value, from := s.Default, "the default"
		for _, source := range []struct {
			value string
			found bool
			name  string
		}{
			{values[s.inFile()], s.inFile() != "" && values[s.inFile()] != "", File + ", key " + s.inFile()},
			{variable(s.Variable), s.Variable != "" && variable(s.Variable) != "", "variable " + s.Variable},
			{arguments[s.Flag], arguments[s.Flag] != "", "--" + s.Flag},
		} {
			if source.found {
				value, from = source.value, source.name
			}
		}
		if err := s.set(&c, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", from, err))
		}
	}
	if c.NetController && c.Master == "" {
		problems = append(problems, errors.New("--net-controller needs --init-master"))
	}
	return c, errors.Join(problems...)
}

// CheckNode returns what the agent of a node needs and does not have.
func (c Config) CheckNode() error {
	return missing(map[string]bool{
		"cluster-subnets (" + agentconfig.VariableClusterNetwork + ")": len(c.Pools) > 0,
		"mtu (" + agentconfig.VariableMTU + ")":                        c.MTU > 0,
		"encap-ip (" + agentconfig.VariableNodeAddress + ")":           c.TunnelAddress.IsValid(),
		"sb-address (" + agentconfig.VariableSouth + ")":               c.South != "",
	})
}

// CheckMaster returns what a master needs and does not have.
func (c Config) CheckMaster() error {
	return missing(map[string]bool{
		"cluster-subnets (" + agentconfig.VariableClusterNetwork + ")":   len(c.Pools) > 0,
		"k8s-service-cidrs (" + agentconfig.VariableServiceNetwork + ")": len(c.Services) > 0,
		"encap-ip (" + agentconfig.VariableNodeAddress + ")":             c.TunnelAddress.IsValid(),
	})
}

// CheckIPsec returns what the agent of IPsec needs and does not have.
func (c Config) CheckIPsec() error {
	return missing(map[string]bool{
		"encap-ip (" + agentconfig.VariableNodeAddress + ")": c.TunnelAddress.Is4(),
		"pod-name (" + agentconfig.VariablePod + ")":         c.Pod != "",
	})
}

func missing(found map[string]bool) error {
	var names []string
	for name, ok := range found {
		if !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("settings are missing: %s; set the flag --NAME or the variable in brackets", strings.Join(names, ", "))
}

// ClusterNetwork returns the CIDRs of the pools.
func (c Config) ClusterNetwork() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range c.Pools {
		out = append(out, p.CIDR)
	}
	return out
}

// parsePool reads CIDR/LENGTH; without LENGTH a node has 256 addresses, or a /64 of IPv6.
func parsePool(text string) (Pool, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Pool{}, fmt.Errorf("%q must be ADDRESS/LENGTH/LENGTH-OF-A-NODE, such as 10.128.0.0/14/23", text)
	}
	cidr, err := parseCIDR(parts[0] + "/" + parts[1])
	if err != nil {
		return Pool{}, err
	}
	length := 24
	if cidr.Addr().Is6() {
		length = 64
	}
	if len(parts) == 3 {
		if length, err = strconv.Atoi(parts[2]); err != nil {
			return Pool{}, fmt.Errorf("%q: %q is not the prefix length of a node's block", text, parts[2])
		}
	}
	if length < cidr.Bits() || length > cidr.Addr().BitLen()-3 {
		return Pool{}, fmt.Errorf("%q: the prefix length of a node's block is %d; it must be from %d to %d", text, length, cidr.Bits(), cidr.Addr().BitLen()-3)
	}
	return Pool{CIDR: cidr, BlockLength: length}, nil
}

func parseCIDR(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, fmt.Errorf("%q is not a CIDR, such as 172.30.0.0/16", text)
	case p != p.Masked():
		return p, fmt.Errorf("%q has host bits; write %s", text, p.Masked())
	}
	return p, nil
}

// UsesTLS is whether nodes reach the southbound database over TLS.
func (c Config) UsesTLS() bool { return strings.Contains(c.South, "ssl:") }

// SouthPort is the port at which nodes reach the southbound database: that of the first endpoint of theirs.
func (c Config) SouthPort() uint16 {
	first, _, _ := strings.Cut(c.South, ",")
	_, address, _ := strings.Cut(first, ":")
	if a, err := netip.ParseAddrPort(address); err == nil {
		return a.Port()
	}
	return agentconfig.SouthPort
}

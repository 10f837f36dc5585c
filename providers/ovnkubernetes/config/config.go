// Package config is the configuration of ovnkube: its arguments, environment variables and the file ovn_k8s.conf. An argument overrides a variable, and a
// variable overrides the file. The names are those of OVN-Kubernetes; settings of OVN-Kubernetes without effect here are rejected. It is pure: the caller
// reads the file and the environment.
package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// File is the path of the configuration file.
const File = "/etc/openvswitch/ovn_k8s.conf"

// Config is the configuration.
type Config struct {
	// Master and Node are the name of the node if the process is a master or the node's agent. CleanupNode is the name if it removes the remains of an agent.
	// An empty name disables the role.
	Master, Node, CleanupNode string
	// NetController is valid only with Master, which always includes the controllers.
	NetController bool
	// APIServer, Token and CAFile, or Kubeconfig, configure the client of the Kubernetes API. All may be empty in pods.
	APIServer, Kubeconfig, Token, CAFile string
	// Pools are the pools of the cluster network. Services are the Service CIDRs.
	Pools    []Pool
	Services []netip.Prefix
	// South has the endpoints of the southbound databases in OVSDB's notation, separated by commas.
	South string
	// PrivateKey, Certificate and CA are the files for TLS.
	PrivateKey, Certificate, CA string
	// MTU is the MTU of pods in bytes.
	MTU int
	// MultiNetwork is true if pods may have additional networks, which multus-shim attaches.
	MultiNetwork bool
	// NodeAddresses are the node's addresses, one of each IP family. TunnelAddress is that of the family of the first pool: the node's tunnel endpoint, invalid
	// if the node has none. TunnelPort is the UDP port of Geneve.
	NodeAddresses []netip.Addr
	TunnelAddress netip.Addr
	TunnelPort    uint16
	// Datapath is DatapathAuto, DatapathUserspace or DatapathSystem.
	Datapath string
	// Probe is the time without messages after which ovn-controller probes the southbound database.
	Probe time.Duration
	// Pod is the name of the agent's pod, whose annotations have its reports.
	Pod string
	// IPsec has the files of the IPsec agent.
	IPsec IPsec
	// Health is the address of /healthz, /readyz and /metrics.
	Health string
	// LogLevel is debug, info, warn or error.
	LogLevel string
	// Directories are the paths of files and sockets.
	Directories Directories
}

// IPsec has the files of the IPsec agent.
type IPsec struct {
	// ConfigDir is the mount path of the ConfigMap. CA is the file with the CA of nodes' certificates. RunDir has charon's socket, and must not be shared with
	// other nodes. Charon is the path of charon.
	ConfigDir, CA, RunDir, Charon string
}

// Pool is a pool of the cluster network.
type Pool struct {
	CIDR netip.Prefix
	// BlockLength is the prefix length of a node's block.
	BlockLength int
}

// Datapaths of Open vSwitch. DatapathAuto selects the kernel's where it exists.
const (
	DatapathAuto      = "auto"
	DatapathUserspace = "userspace"
	DatapathSystem    = "system"
)

// Directories are the paths of files and sockets. Several nodes on one machine need different ones.
type Directories struct {
	// SwitchRun and SwitchData are the directories of Open vSwitch, Run and Data those of OVN.
	SwitchRun, SwitchData, Run, Data string
	// Server has the socket of the CNI plugin; below /run. State has the state of the agent.
	Server, State string
	// PluginConf and Plugins are the directories of the container runtime.
	PluginConf, Plugins string
	// SwitchNamespace is the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace string
	// NetworkFlows is the file with the collectors of flow records.
	NetworkFlows string
	// MTU is the file with the desired MTU.
	MTU string
	// PolicyAudit is the file with the settings of audit messages, AuditLog the file with the messages.
	PolicyAudit, AuditLog string
	// ProcSys is the directory of kernel parameters.
	ProcSys string
}

// SwitchSocket returns the socket of Open vSwitch's database.
func (d Directories) SwitchSocket() string {
	return path.Join(d.SwitchRun, path.Base(agentconfig.SwitchSocket))
}

// SwitchControl returns the control socket of ovs-vswitchd.
func (d Directories) SwitchControl() string {
	return path.Join(d.SwitchRun, path.Base(agentconfig.SwitchControl))
}

// ControllerControl returns the control socket of ovn-controller.
func (d Directories) ControllerControl() string {
	return path.Join(d.Run, path.Base(agentconfig.ControllerControl))
}

// NorthdControl returns the control socket of ovn-northd.
func (d Directories) NorthdControl() string {
	return path.Join(d.Run, path.Base(agentconfig.NorthdControl))
}

// PluginSocket returns the socket of the CNI server.
func (d Directories) PluginSocket() string { return path.Join(d.Server, "cni", "ovn-cni-server.sock") }

// Database is one of OVN's two databases.
type Database struct {
	// Name is the name of the schema, File the database file, Socket the server's socket, Control its control socket.
	Name, File, Socket, Control string
	// Schema is the path of the schema in the image.
	Schema string
}

// NorthDatabase returns the northbound database.
func (d Directories) NorthDatabase() Database { return d.database("OVN_Northbound", "nb") }

// SouthDatabase returns the southbound database. Masters add the address for nodes through its control socket.
func (d Directories) SouthDatabase() Database { return d.database("OVN_Southbound", "sb") }

func (d Directories) database(name, short string) Database {
	return Database{
		Name: name, File: path.Join(d.Data, "ovn"+short+"_db.db"), Schema: "/usr/share/ovn/ovn-" + short + ".ovsschema",
		Socket: path.Join(d.Run, "ovn"+short+"_db.sock"), Control: path.Join(d.Run, "ovn"+short+"_db.ctl"),
	}
}

// Load returns the configuration. arguments has the given flags, variable returns the value of an environment variable, and file is the content of
// ovn_k8s.conf. The error names every invalid setting.
func Load(arguments map[string]string, variable func(string) string, file []byte) (Config, error) {
	values, err := parseINI(file)
	problems := []error{err}
	problems = append(problems, refusedVariables(variable)...)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(settings(), func(s Setting) bool { return s.inFile() == key }) {
			problems = append(problems, refusedKey(key))
		}
	}
	var c Config
	given := sources{arguments: arguments, variable: variable, file: values}
	for _, s := range settings() {
		value, from := given.value(s)
		if err := s.set(&c, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", from, err))
		}
	}
	c.TunnelAddress = c.tunnelAddress()
	for _, s := range settings() {
		if s.check == nil {
			continue
		}
		value, from := given.value(s)
		if err := s.check(c, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", from, err))
		}
	}
	if c.NetController && c.Master == "" {
		problems = append(problems, errors.New("--net-controller needs --init-master"))
	}
	return c, errors.Join(problems...)
}

// sources are where settings come from, the file by section.key.
type sources struct {
	arguments map[string]string
	variable  func(string) string
	file      map[string]string
}

// value returns the value of a setting and its source, for messages.
func (from sources) value(s Setting) (value, source string) {
	if v := from.arguments[s.Flag]; v != "" {
		return v, "--" + s.Flag
	}
	if s.Variable != "" {
		if v := from.variable(s.Variable); v != "" {
			return v, "variable " + s.Variable
		}
	}
	if v := from.file[s.inFile()]; v != "" {
		return v, File + ", key " + s.inFile()
	}
	return s.Default, "the default"
}

// tunnelAddress returns the node's address of the family of the first pool. Without pools it is the node's first one.
func (c Config) tunnelAddress() netip.Addr {
	for _, a := range c.NodeAddresses {
		if len(c.Pools) == 0 || a.Is4() == c.Pools[0].CIDR.Addr().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// TunnelsIPv6 reports whether tunnels between nodes are over IPv6.
func (c Config) TunnelsIPv6() bool { return len(c.Pools) > 0 && c.Pools[0].CIDR.Addr().Is6() }

// nodeAddress names the setting of TunnelAddress in errors.
func (c Config) nodeAddress() string {
	const name = "encap-ip (" + agentconfig.VariableNodeAddress + ")"
	if len(c.NodeAddresses) == 0 {
		return name
	}
	family := "IPv4"
	if c.TunnelsIPv6() {
		family = "IPv6"
	}
	return fmt.Sprintf("%s with an %s address, the family of the first pool", name, family)
}

// CheckNode returns an error with the missing settings of a node's agent.
func (c Config) CheckNode() error {
	return missing(map[string]bool{
		"cluster-subnets (" + agentconfig.VariableClusterNetwork + ")": len(c.Pools) > 0,
		"mtu (" + agentconfig.VariableMTU + ")":                        c.MTU > 0,
		c.nodeAddress():                                                c.TunnelAddress.IsValid(),
		"sb-address (" + agentconfig.VariableSouth + ")":               c.South != "",
	})
}

// CheckMaster returns an error with the missing settings of a master.
func (c Config) CheckMaster() error {
	return missing(map[string]bool{
		"cluster-subnets (" + agentconfig.VariableClusterNetwork + ")":   len(c.Pools) > 0,
		"k8s-service-cidrs (" + agentconfig.VariableServiceNetwork + ")": len(c.Services) > 0,
		c.nodeAddress(): c.TunnelAddress.IsValid(),
	})
}

// CheckIPsec returns an error with the missing settings of an IPsec agent.
func (c Config) CheckIPsec() error {
	return missing(map[string]bool{
		c.nodeAddress(): c.TunnelAddress.IsValid(),
		"pod-name (" + agentconfig.VariablePod + ")": c.Pod != "",
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

// parsePool parses CIDR/LENGTH. The default LENGTH is 24, and 64 for IPv6.
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

func parseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return a, fmt.Errorf("%q is not an IP address", text)
	}
	return a.Unmap(), nil
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

// UsesTLS reports whether nodes connect to the southbound database over TLS.
func (c Config) UsesTLS() bool { return strings.Contains(c.South, "ssl:") }

// SouthPort returns the port of the southbound database: that of the first endpoint.
func (c Config) SouthPort() uint16 {
	first, _, _ := strings.Cut(c.South, ",")
	_, address, _ := strings.Cut(first, ":")
	if a, err := netip.ParseAddrPort(address); err == nil {
		return a.Port()
	}
	return agentconfig.SouthPort
}

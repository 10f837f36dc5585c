// Package agentconfig has the configuration file multus.json, which the operator shares with the daemons for additional networks. It is pure.
package agentconfig

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// Version is the format version of multus.json.
const Version = 1

// FileName is the name of the file.
const FileName = "multus.json"

// Values of Attachments.
const (
	Trusted    = "Trusted"
	Restricted = "Restricted"
)

// Config is the content of multus.json.
type Config struct {
	Version int `json:"version"`
	// Socket is the socket on which the daemon serves the shim; below /run.
	Socket string `json:"socket"`
	// WhereaboutsSocket is the socket on which it serves the IPAM plugin whereabouts.
	WhereaboutsSocket string `json:"whereaboutsSocket"`
	// StateDir has the shim's records and results, which the daemon reads. AddressDir has the daemon's records of assigned addresses.
	StateDir   string `json:"stateDir"`
	AddressDir string `json:"addressDir"`
	// ConfDir has CNI configurations for definitions without one, by the name in the configuration.
	ConfDir string `json:"confDir"`
	// ConfDirRuntime and BinDir are the runtime's CNI directories.
	ConfDirRuntime string `json:"confDirRuntime"`
	BinDir         string `json:"binDir"`
	// WrapNetwork is true if a third party installs the pod network: its configuration in ConfDirRuntime is wrapped in that of the shim.
	WrapNetwork bool `json:"wrapNetwork"`
	// HealthAddress is the HOST:PORT of the health and metrics endpoints.
	HealthAddress string `json:"healthAddress"`
	// DHCPSocket is the socket on which the DHCP daemon assigns addresses, DHCPLegacySocket that for the plugin of containernetworking. DHCPDir has its
	// leases. DHCPHealthAddress is the HOST:PORT of its health and metrics endpoints.
	DHCPSocket        string `json:"dhcpSocket"`
	DHCPLegacySocket  string `json:"dhcpLegacySocket"`
	DHCPDir           string `json:"dhcpDir"`
	DHCPHealthAddress string `json:"dhcpHealthAddress"`
	// Policies is true if MultiNetworkPolicies are enforced. PolicySocket is the socket on which the policy daemon serves the shim, PolicyRules the directory
	// with the administrator's rules, PolicyHealthAddress the HOST:PORT of its health and metrics endpoints.
	Policies            bool   `json:"policies"`
	PolicySocket        string `json:"policySocket"`
	PolicyRules         string `json:"policyRules"`
	PolicyHealthAddress string `json:"policyHealthAddress"`
	// PolicyDir has the last valid version of each policy.
	PolicyDir string `json:"policyDir"`
	// SysctlFile is the list of sysctls that the plugin tuning may set.
	SysctlFile string `json:"sysctlFile"`
	// Namespace is the namespace of the daemon. Definitions that replace the default network must be in it.
	Namespace string `json:"namespace"`
	// NamespaceIsolation restricts pods to networks of their own namespace and of GlobalNamespaces.
	NamespaceIsolation bool     `json:"namespaceIsolation"`
	GlobalNamespaces   []string `json:"globalNamespaces"`
	// Attachments is Trusted or Restricted. With Restricted, definitions outside of GlobalNamespaces may use only what package definition allows.
	Attachments string `json:"attachments"`
	// Masters are the interfaces that macvlan may use with Restricted.
	Masters []string `json:"masters"`
	// ReservedNetworks are the CIDRs of pods and Services, which definitions must not use with Restricted. The daemon adds the networks of its node.
	ReservedNetworks []netip.Prefix `json:"reservedNetworks"`
	// ReservedBridges are the bridges of the cluster's networks, which definitions must not use.
	ReservedBridges []string `json:"reservedBridges"`
	// ReservedPlugins are the CNI plugins with which agents of the cluster's networks are called, which definitions must not name.
	ReservedPlugins []string `json:"reservedPlugins"`
}

// Default returns the configuration on a node.
func Default() Config {
	return Config{
		Version: Version, Socket: wire.Socket, WhereaboutsSocket: "/run/cno/whereabouts/cni.sock", StateDir: "/var/lib/cno/multus", AddressDir: "/var/lib/cno/whereabouts",
		ConfDir: "/etc/cni/multus/net.d", ConfDirRuntime: "/etc/cni/net.d", BinDir: "/opt/cni/bin", HealthAddress: "127.0.0.1:19108",
		DHCPSocket: "/run/cno/dhcp/cni.sock", DHCPLegacySocket: "/run/cni/dhcp.sock", DHCPDir: "/var/lib/cno/dhcp", DHCPHealthAddress: "127.0.0.1:19109",
		PolicySocket: wire.PolicySocket, PolicyRules: "/etc/multus-policy", PolicyHealthAddress: "127.0.0.1:19110",
		PolicyDir: "/var/lib/cno/multus-policy", SysctlFile: sysctls.File,
		Namespace: finding.Namespace, NamespaceIsolation: true, Attachments: Trusted,
		GlobalNamespaces: []string{"default", finding.Namespace, "openshift-sriov-network-operator", "openshift-cnv"},
		Masters:          []string{}, ReservedNetworks: []netip.Prefix{}, ReservedBridges: []string{}, ReservedPlugins: []string{},
	}
}

// Decode decodes multus.json. The result is not validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of multus.json.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// Isolation returns the rule of NamespaceIsolation and GlobalNamespaces.
func (c Config) Isolation() isolation.Rule {
	return isolation.Rule{Enabled: c.NamespaceIsolation, Global: c.GlobalNamespaces}
}

// Validate returns every error in the configuration; nil if there is none.
func (c Config) Validate() field.ErrorList {
	errs := agentfile.ValidateVersion(field.NewPath("version"), c.Version, Version)
	for _, p := range []struct{ name, path string }{
		{"socket", c.Socket}, {"whereaboutsSocket", c.WhereaboutsSocket}, {"stateDir", c.StateDir}, {"addressDir", c.AddressDir}, {"confDir", c.ConfDir},
		{"confDirRuntime", c.ConfDirRuntime}, {"binDir", c.BinDir},
		{"dhcpSocket", c.DHCPSocket}, {"dhcpLegacySocket", c.DHCPLegacySocket}, {"dhcpDir", c.DHCPDir},
		{"policySocket", c.PolicySocket}, {"policyRules", c.PolicyRules},
		{"policyDir", c.PolicyDir}, {"sysctlFile", c.SysctlFile},
	} {
		errs = append(errs, agentfile.ValidatePath(field.NewPath(p.name), p.path)...)
	}
	errs = append(errs, agentfile.ValidateListen(field.NewPath("healthAddress"), c.HealthAddress)...)
	errs = append(errs, agentfile.ValidateListen(field.NewPath("dhcpHealthAddress"), c.DHCPHealthAddress)...)
	errs = append(errs, agentfile.ValidateListen(field.NewPath("policyHealthAddress"), c.PolicyHealthAddress)...)
	if c.Namespace == "" {
		errs = append(errs, field.Required(field.NewPath("namespace"), "must be the namespace of the daemon"))
	}
	if c.Attachments != Trusted && c.Attachments != Restricted {
		errs = append(errs, field.NotSupported(field.NewPath("attachments"), c.Attachments, []string{Trusted, Restricted}))
	}
	for i, p := range c.ReservedNetworks {
		if !p.IsValid() {
			errs = append(errs, field.Invalid(field.NewPath("reservedNetworks").Index(i), fmt.Sprint(p), "must be a prefix"))
		}
	}
	for i, m := range c.Masters {
		errs = append(errs, agentfile.ValidateInterface(field.NewPath("masters").Index(i), m)...)
	}
	return errs
}

// Package agentconfig is what the operator and the daemon of further networks on a node agree on: the file multus.json. It is pure.
package agentconfig

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// Version is the version of the format of multus.json.
const Version = 1

// FileName is the name of the file.
const FileName = "multus.json"

// The values of Attachments.
const (
	Trusted    = "Trusted"
	Restricted = "Restricted"
)

// Config is multus.json.
type Config struct {
	Version int `json:"version"`
	// Socket is where the daemon answers the shim; below /run.
	Socket string `json:"socket"`
	// WhereaboutsSocket is where it gives addresses.
	WhereaboutsSocket string `json:"whereaboutsSocket"`
	// StateDir is where the shim keeps records and results; the daemon reads them. AddressDir is where the daemon keeps which addresses it
	// gave to which interfaces.
	StateDir   string `json:"stateDir"`
	AddressDir string `json:"addressDir"`
	// ConfDir has CNI configurations for definitions without one, by the name inside.
	ConfDir string `json:"confDir"`
	// ConfDirRuntime and BinDir are the runtime's directories of CNI.
	ConfDirRuntime string `json:"confDirRuntime"`
	BinDir         string `json:"binDir"`
	// WrapNetwork is true if a third party installs the pod network: its configuration in ConfDirRuntime is then put into one that starts the shim.
	WrapNetwork bool `json:"wrapNetwork"`
	// HealthAddress is the host and port on which health and metrics are served.
	HealthAddress string `json:"healthAddress"`
	// DHCPSocket is where the DHCP daemon gives addresses, DHCPLegacySocket where the program of containernetworking asks it; DHCPDir is where
	// it keeps leases, DHCPHealthAddress where it serves its own health and metrics.
	DHCPSocket        string `json:"dhcpSocket"`
	DHCPLegacySocket  string `json:"dhcpLegacySocket"`
	DHCPDir           string `json:"dhcpDir"`
	DHCPHealthAddress string `json:"dhcpHealthAddress"`
	// Policies is true if MultiNetworkPolicies are enforced. PolicySocket is where the daemon of policies answers the shim, PolicyRules the
	// directory with rules of the administrator, PolicyHealthAddress where the daemon serves its own health and metrics.
	Policies            bool   `json:"policies"`
	PolicySocket        string `json:"policySocket"`
	PolicyRules         string `json:"policyRules"`
	PolicyHealthAddress string `json:"policyHealthAddress"`
	// PolicyDir is where it keeps the last valid form of each policy.
	PolicyDir string `json:"policyDir"`
	// SysctlFile is the list of sysctls that the plugin tuning may set.
	SysctlFile string `json:"sysctlFile"`
	// Namespace is that of the daemon: definitions for the annotation that replaces the default network are only taken from there.
	Namespace string `json:"namespace"`
	// NamespaceIsolation is true if a pod gets only networks of its own namespace and of GlobalNamespaces.
	NamespaceIsolation bool     `json:"namespaceIsolation"`
	GlobalNamespaces   []string `json:"globalNamespaces"`
	// Attachments is Trusted, or Restricted: then definitions outside of GlobalNamespaces may only use what package definition allows.
	Attachments string `json:"attachments"`
	// Masters are the interfaces that macvlan may use with Restricted.
	Masters []string `json:"masters"`
	// ReservedNetworks are those of pods, Services and nodes, which definitions may not use with Restricted.
	ReservedNetworks []netip.Prefix `json:"reservedNetworks"`
	// ReservedBridges are those of the cluster's networks, which no definition may use.
	ReservedBridges []string `json:"reservedBridges"`
}

// Default returns the configuration on a node.
func Default() Config {
	return Config{
		Version: Version, Socket: wire.Socket, WhereaboutsSocket: "/run/cno/whereabouts/cni.sock", StateDir: "/var/lib/cno/multus", AddressDir: "/var/lib/cno/whereabouts",
		ConfDir: "/etc/cni/multus/net.d", ConfDirRuntime: "/etc/cni/net.d", BinDir: "/opt/cni/bin", HealthAddress: "127.0.0.1:19108",
		DHCPSocket: "/run/cno/dhcp/cni.sock", DHCPLegacySocket: "/run/cni/dhcp.sock", DHCPDir: "/var/lib/cno/dhcp", DHCPHealthAddress: "127.0.0.1:19109",
		PolicySocket: wire.PolicySocket, PolicyRules: "/etc/multus-policy", PolicyHealthAddress: "127.0.0.1:19110",
		PolicyDir: "/var/lib/cno/multus-policy", SysctlFile: sysctls.File,
		Namespace: "openshift-multus", NamespaceIsolation: true, Attachments: Trusted,
		GlobalNamespaces: []string{"default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"},
		Masters:          []string{}, ReservedNetworks: []netip.Prefix{}, ReservedBridges: []string{},
	}
}

// Decode reads multus.json. The result is not validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of multus.json.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// Validate returns everything that is wrong with the configuration.
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

package agentconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Version is the format version of openshift-sdn.json.
const Version = 1

// Mode determines how namespaces are isolated.
type Mode string

// Modes of the network.
const (
	// Subnet connects all pods.
	Subnet Mode = "Subnet"
	// Multitenant connects pods of namespaces with the same VNID, and all pods with those of VNID 0.
	Multitenant Mode = "Multitenant"
	// NetworkPolicy isolates pods with NetworkPolicies.
	NetworkPolicy Mode = "NetworkPolicy"
)

// modes has all modes.
var modes = []Mode{Subnet, Multitenant, NetworkPolicy}

// Config is the content of openshift-sdn.json.
type Config struct {
	Version int `json:"version"`
	// Mode determines how namespaces are isolated.
	Mode Mode `json:"mode"`
	// ClusterNetworks are the pools of the nodes' blocks, at least one.
	ClusterNetworks []ClusterNetwork `json:"clusterNetworks"`
	// ServiceNetwork is the Service CIDR.
	ServiceNetwork netip.Prefix `json:"serviceNetwork"`
	// VXLANPort is the UDP port of VXLAN.
	VXLANPort int `json:"vxlanPort"`
	// MTU is the MTU of pods in bytes.
	MTU int `json:"mtu"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *agentfile.MTUMigration `json:"migration,omitempty"`
	// ReservedVNIDs are the fixed VNIDs of namespaces, each 0 or 1. It is empty in mode Subnet. In the other modes, "default" has VNID 0 in addition.
	ReservedVNIDs map[string]uint32 `json:"reservedVNIDs"`
	// EnableUnidling enables the unidling of a Service by the first packet to it.
	EnableUnidling bool `json:"enableUnidling"`
	// OpenShift is true on OpenShift. Its controllers scale up idled workloads, and pods must not read its machine configurations.
	OpenShift bool `json:"openShift"`
	// ExternalSwitch is true if the host runs Open vSwitch. The agent then never stops it and keeps the configuration of other clients.
	ExternalSwitch bool `json:"externalSwitch"`
	// MasqueradeBit is the packet mark bit that kube-proxy uses for masquerading, 0 to 31.
	MasqueradeBit int `json:"masqueradeBit"`
	// LogLevel is info or debug.
	LogLevel string `json:"logLevel"`
	// CNI is the configuration of the CNI plugin.
	CNI CNI `json:"cni"`
	// StateDir has the state that the agent needs to start without the API server. AddressDir has the addresses of pods, in the format of host-local.
	StateDir   string `json:"stateDir"`
	AddressDir string `json:"addressDir"`
	// SwitchRunDir has the sockets of Open vSwitch, SwitchDataDir its database.
	SwitchRunDir  string `json:"switchRunDir"`
	SwitchDataDir string `json:"switchDataDir"`
	// SwitchNamespace is the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace string `json:"switchNamespace"`
	// ProcSys is the directory of kernel parameters. It differs from /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// NodeHealthAddress and ControllerHealthAddress are the HOST:PORT of the health and metrics endpoints.
	NodeHealthAddress       string `json:"nodeHealthAddress"`
	ControllerHealthAddress string `json:"controllerHealthAddress"`
}

// ClusterNetwork is a pool of the nodes' blocks.
type ClusterNetwork struct {
	CIDR netip.Prefix `json:"cidr"`
	// HostPrefix is the prefix length of a node's block.
	HostPrefix int `json:"hostPrefix"`
}

// CNI is the configuration of the CNI plugin.
type CNI struct {
	// ConfDir is the directory of network configurations, and BinDir the directory of plugins, as paths in the agent's container. The agent writes the
	// configuration after the plugins that it names exist.
	ConfDir string `json:"confDir"`
	BinDir  string `json:"binDir"`
	// Socket is the Unix socket on which the agent serves the CNI plugin; below /run or /var/run.
	Socket string `json:"socket"`
	// MultiNetwork is true if pods may have additional networks, which multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork"`
}

// Default returns a configuration with all default values. The pools, the Service CIDR and the MTU have none.
func Default() Config {
	return Config{
		Version: Version, Mode: NetworkPolicy, VXLANPort: 4789, EnableUnidling: true, MasqueradeBit: 14, LogLevel: "info",
		ClusterNetworks: []ClusterNetwork{}, ReservedVNIDs: map[string]uint32{},
		CNI:      CNI{ConfDir: PluginConfDir, BinDir: HostPluginDir, Socket: ServerDir + "/cniserver/socket"},
		StateDir: StateDir, AddressDir: AddressDir, SwitchRunDir: SwitchRunDir, SwitchDataDir: SwitchDataDir, SwitchNamespace: SwitchNamespace, ProcSys: "/proc/sys",
		NodeHealthAddress: HealthNode, ControllerHealthAddress: HealthController,
	}
}

// Decode decodes openshift-sdn.json. Missing fields have their default values; an unknown field is an error. The result is not validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of openshift-sdn.json, with every field explicit. The output is deterministic.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// PodMTU returns the MTU, in bytes, of newly created pod interfaces.
func (c Config) PodMTU() int { return c.Migration.PodMTU(c.MTU) }

// Pools returns the CIDRs of ClusterNetworks.
func (c Config) Pools() []netip.Prefix {
	out := make([]netip.Prefix, len(c.ClusterNetworks))
	for i, n := range c.ClusterNetworks {
		out[i] = n.CIDR
	}
	return out
}

// Reserved returns the networks of pods and Services, in which no node has its address.
func (c Config) Reserved() []netip.Prefix { return append(c.Pools(), c.ServiceNetwork) }

// Validate returns every error in the configuration; nil if there is none.
func (c Config) Validate() field.ErrorList {
	errs := agentfile.ValidateVersion(field.NewPath("version"), c.Version, Version)
	if !slices.Contains(modes, c.Mode) {
		errs = append(errs, field.NotSupported(field.NewPath("mode"), c.Mode, modes))
	}
	errs = append(errs, c.validateNetworks()...)
	errs = append(errs, inRange(field.NewPath("vxlanPort"), c.VXLANPort, 1, 65535)...)
	errs = append(errs, inRange(field.NewPath("mtu"), c.MTU, 576, 65536)...)
	errs = append(errs, c.Migration.Validate(field.NewPath("migration"), c.MTU)...)
	for name, vnid := range c.ReservedVNIDs {
		if vnid > sdnv1.VNIDControlPlane {
			errs = append(errs, field.Invalid(field.NewPath("reservedVNIDs").Key(name), vnid, "must be 0 or 1"))
		}
	}
	errs = append(errs, inRange(field.NewPath("masqueradeBit"), c.MasqueradeBit, 0, 31)...)
	if c.LogLevel != "info" && c.LogLevel != "debug" {
		errs = append(errs, field.NotSupported(field.NewPath("logLevel"), c.LogLevel, []string{"info", "debug"}))
	}
	for _, p := range []struct{ name, path string }{
		{"cni.confDir", c.CNI.ConfDir}, {"cni.binDir", c.CNI.BinDir}, {"cni.socket", c.CNI.Socket}, {"stateDir", c.StateDir},
		{"addressDir", c.AddressDir}, {"switchRunDir", c.SwitchRunDir}, {"switchDataDir", c.SwitchDataDir}, {"procSys", c.ProcSys},
	} {
		errs = append(errs, agentfile.ValidatePath(field.NewPath(p.name), p.path)...)
	}
	if c.SwitchNamespace == "" || strings.Contains(c.SwitchNamespace, "/") {
		errs = append(errs, field.Invalid(field.NewPath("switchNamespace"), c.SwitchNamespace, "must be a name without a slash"))
	}
	errs = append(errs, agentfile.ValidateListen(field.NewPath("nodeHealthAddress"), c.NodeHealthAddress)...)
	return append(errs, agentfile.ValidateListen(field.NewPath("controllerHealthAddress"), c.ControllerHealthAddress)...)
}

func inRange(at *field.Path, value, least, most int) field.ErrorList {
	if value < least || value > most {
		return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("must be %d to %d", least, most))}
	}
	return nil
}

// maxHostPrefix is the longest prefix length of a block: one address remains for a pod.
const maxHostPrefix = 30

// validateNetworks checks the pools and the Service CIDR. They must not overlap.
func (c Config) validateNetworks() field.ErrorList {
	var errs field.ErrorList
	if len(c.ClusterNetworks) == 0 {
		errs = append(errs, field.Required(field.NewPath("clusterNetworks"), "name at least one pool, for example {cidr: 10.128.0.0/14, hostPrefix: 23}"))
	}
	var seen []netip.Prefix
	network := func(at *field.Path, p netip.Prefix) bool {
		if !p.IsValid() || !p.Addr().Is4() || p != p.Masked() {
			errs = append(errs, field.Invalid(at, p.String(), "must be an IPv4 network without host bits, for example 10.128.0.0/14"))
			return false
		}
		if i := slices.IndexFunc(seen, p.Overlaps); i >= 0 {
			errs = append(errs, field.Invalid(at, p.String(), fmt.Sprintf("overlaps %s", seen[i])))
		}
		seen = append(seen, p)
		return true
	}
	for i, n := range c.ClusterNetworks {
		at := field.NewPath("clusterNetworks").Index(i)
		if network(at.Child("cidr"), n.CIDR) {
			errs = append(errs, inRange(at.Child("hostPrefix"), n.HostPrefix, n.CIDR.Bits(), maxHostPrefix)...)
		}
	}
	network(field.NewPath("serviceNetwork"), c.ServiceNetwork)
	return errs
}

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

// Version is the version of the format of openshift-sdn.json.
const Version = 1

// Mode is how namespaces are isolated.
type Mode string

// The modes.
const (
	// Subnet connects all pods.
	Subnet Mode = "Subnet"
	// Multitenant connects pods of namespaces with the same VNID, and all pods with those of VNID 0.
	Multitenant Mode = "Multitenant"
	// NetworkPolicy connects pods as NetworkPolicies say.
	NetworkPolicy Mode = "NetworkPolicy"
)

// modes are all modes.
var modes = []Mode{Subnet, Multitenant, NetworkPolicy}

// Config is the file openshift-sdn.json.
type Config struct {
	Version int `json:"version"`
	// Mode is how namespaces are isolated.
	Mode Mode `json:"mode"`
	// ClusterNetworks are the pools from which nodes get their blocks, at least one.
	ClusterNetworks []ClusterNetwork `json:"clusterNetworks"`
	// ServiceNetwork has the ClusterIPs.
	ServiceNetwork netip.Prefix `json:"serviceNetwork"`
	// VXLANPort is the UDP port of VXLAN.
	VXLANPort int `json:"vxlanPort"`
	// MTU is the MTU of pods in bytes.
	MTU int `json:"mtu"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *agentfile.MTUMigration `json:"migration,omitempty"`
	// ReservedVNIDs are the VNIDs of namespaces that have the same one in every cluster, VNID 0 or 1. Empty in mode Subnet. "default" has
	// VNID 0 in the other modes.
	ReservedVNIDs map[string]uint32 `json:"reservedVNIDs"`
	// EnableUnidling says whether the first packet to an idled Service wakes it.
	EnableUnidling bool `json:"enableUnidling"`
	// OpenShift is true on OpenShift, whose controllers scale up what is idled, and whose machine configurations pods must not read.
	OpenShift bool `json:"openShift"`
	// ExternalSwitch is true if the host runs Open vSwitch itself. It is never stopped then, and what others configured there stays.
	ExternalSwitch bool `json:"externalSwitch"`
	// MasqueradeBit is the bit of packet marks with which kube-proxy asks for masquerading, 0 to 31.
	MasqueradeBit int `json:"masqueradeBit"`
	// LogLevel is info or debug.
	LogLevel string `json:"logLevel"`
	// CNI is how the container runtime reaches the network.
	CNI CNI `json:"cni"`
	// StateDir is where the agent keeps what it needs to start without the API server, AddressDir where the addresses of pods are kept, in
	// the format of host-local.
	StateDir   string `json:"stateDir"`
	AddressDir string `json:"addressDir"`
	// SwitchRunDir has the sockets of Open vSwitch, SwitchDataDir its database.
	SwitchRunDir  string `json:"switchRunDir"`
	SwitchDataDir string `json:"switchDataDir"`
	// SwitchNamespace is the name of the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace string `json:"switchNamespace"`
	// ProcSys is where the kernel's settings are; elsewhere than /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// NodeHealthAddress and ControllerHealthAddress are the hosts and ports on which the programs serve health and metrics.
	NodeHealthAddress       string `json:"nodeHealthAddress"`
	ControllerHealthAddress string `json:"controllerHealthAddress"`
}

// ClusterNetwork is a pool from which nodes get their blocks.
type ClusterNetwork struct {
	CIDR netip.Prefix `json:"cidr"`
	// HostPrefix is the length of a node's block.
	HostPrefix int `json:"hostPrefix"`
}

// CNI is how the container runtime reaches the network.
type CNI struct {
	// ConfDir is the directory of network configurations, BinDir that of plugins, as the agent sees them. The configuration is not written
	// before the plugins that it names exist.
	ConfDir string `json:"confDir"`
	BinDir  string `json:"binDir"`
	// Socket is where the agent serves the CNI plugin; below /run or /var/run.
	Socket string `json:"socket"`
	// MultiNetwork says whether pods may have further networks, which the shim multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork"`
}

// Default returns a configuration that lacks only what has no default: the pools, the Service CIDR and the MTU.
func Default() Config {
	return Config{
		Version: Version, Mode: NetworkPolicy, VXLANPort: 4789, EnableUnidling: true, MasqueradeBit: 14, LogLevel: "info",
		ClusterNetworks: []ClusterNetwork{}, ReservedVNIDs: map[string]uint32{},
		CNI:      CNI{ConfDir: PluginConfDir, BinDir: HostPluginDir, Socket: ServerDir + "/cniserver/socket"},
		StateDir: StateDir, AddressDir: AddressDir, SwitchRunDir: SwitchRunDir, SwitchDataDir: SwitchDataDir, SwitchNamespace: SwitchNamespace, ProcSys: "/proc/sys",
		NodeHealthAddress: HealthNode, ControllerHealthAddress: HealthController,
	}
}

// Decode reads openshift-sdn.json. What the file does not have has its default; a field that is not known is an error. The result is not
// validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of openshift-sdn.json: every field explicit, the same bytes for the same configuration.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// PodMTU is the MTU in bytes of the interfaces of pods that are started now.
func (c Config) PodMTU() int { return c.Migration.PodMTU(c.MTU) }

// Pools are the CIDRs of ClusterNetworks.
func (c Config) Pools() []netip.Prefix {
	out := make([]netip.Prefix, len(c.ClusterNetworks))
	for i, n := range c.ClusterNetworks {
		out[i] = n.CIDR
	}
	return out
}

// Validate returns everything that is wrong with the configuration, nil if nothing is.
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

// maxHostPrefix is the longest prefix of a block: it leaves one address for a pod.
const maxHostPrefix = 30

// validateNetworks checks the pools and the Service CIDR, of which no two may overlap.
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

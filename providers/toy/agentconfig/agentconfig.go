// Package agentconfig has the configuration that the operator shares with the agents of the toy network: the file toy.json, and the table of nodes in
// nodes.json. It is pure.
package agentconfig

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Version is the format version of toy.json.
const Version = 1

// Names of the files.
const (
	FileName  = "toy.json"
	NodesFile = "nodes.json"
)

// Config is the content of toy.json.
type Config struct {
	Version int `json:"version"`
	// NodesFile is the path of the table of nodes.
	NodesFile string `json:"nodesFile"`
	// ConfDir and BinDir are the CNI directories.
	ConfDir string `json:"confDir"`
	BinDir  string `json:"binDir"`
	// MultiNetwork is true if pods may have additional networks, which multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork,omitempty"`
	// Socket is the Unix socket on which the agent serves CNI; below /run.
	Socket string `json:"socket"`
	// StateDir has the attachments of pods.
	StateDir string `json:"stateDir"`
	// ProcSys is the directory of kernel parameters. It differs from /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// HealthAddress is the HOST:PORT of the health and metrics endpoints.
	HealthAddress string `json:"healthAddress"`
}

// Default returns the configuration on a node.
func Default() Config {
	return Config{
		Version: Version, NodesFile: "/etc/toy/" + NodesFile, ConfDir: "/etc/cni/net.d", BinDir: "/opt/cni/bin", Socket: "/run/cno/toy/cni.sock",
		StateDir: "/var/lib/cno/toy", ProcSys: "/proc/sys", HealthAddress: "127.0.0.1:19199",
	}
}

// Decode decodes toy.json. The result is not validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of toy.json.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// Validate returns every error in the configuration; nil if there is none.
func (c Config) Validate() field.ErrorList {
	errs := agentfile.ValidateVersion(field.NewPath("version"), c.Version, Version)
	for _, p := range []struct{ name, path string }{
		{"nodesFile", c.NodesFile}, {"confDir", c.ConfDir}, {"binDir", c.BinDir}, {"socket", c.Socket}, {"stateDir", c.StateDir}, {"procSys", c.ProcSys},
	} {
		errs = append(errs, agentfile.ValidatePath(field.NewPath(p.name), p.path)...)
	}
	return append(errs, agentfile.ValidateListen(field.NewPath("healthAddress"), c.HealthAddress)...)
}

// Nodes is the content of nodes.json: the nodes by name.
type Nodes struct {
	Nodes map[string]Node `json:"nodes"`
}

// Node is an entry of the table of nodes.
type Node struct {
	// Address is the next hop for packets to the node's pods.
	Address netip.Addr `json:"address"`
	// Block is the block of the node's pod addresses.
	Block netip.Prefix `json:"block"`
}

// DecodeNodes decodes nodes.json.
func DecodeNodes(data []byte) (Nodes, error) { return agentfile.Decode(NodesFile, data, Nodes{}) }

// Encode returns the content of nodes.json.
func (n Nodes) Encode() ([]byte, error) { return agentfile.Encode(NodesFile, n) }

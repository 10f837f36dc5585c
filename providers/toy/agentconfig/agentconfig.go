// Package agentconfig is what the operator and the agents of the toy network agree on: the file toy.json, and the table of nodes in
// nodes.json. It is pure.
package agentconfig

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Version is the version of the format of toy.json.
const Version = 1

// The names of the files.
const (
	FileName  = "toy.json"
	NodesFile = "nodes.json"
)

// Config is toy.json.
type Config struct {
	Version int `json:"version"`
	// NodesFile is where the table of nodes is.
	NodesFile string `json:"nodesFile"`
	// ConfDir and BinDir are the directories of CNI.
	ConfDir string `json:"confDir"`
	BinDir  string `json:"binDir"`
	// MultiNetwork says whether pods may have further networks, which the shim multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork,omitempty"`
	// Socket is where the agent serves CNI; below /run.
	Socket string `json:"socket"`
	// StateDir is where the attachments of pods are kept.
	StateDir string `json:"stateDir"`
	// ProcSys is where the kernel's settings are; elsewhere than /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// HealthAddress is the host and port on which health and metrics are served.
	HealthAddress string `json:"healthAddress"`
}

// Default returns the configuration on a node.
func Default() Config {
	return Config{
		Version: Version, NodesFile: "/etc/toy/" + NodesFile, ConfDir: "/etc/cni/net.d", BinDir: "/opt/cni/bin", Socket: "/run/cno/toy/cni.sock",
		StateDir: "/var/lib/cno/toy", ProcSys: "/proc/sys", HealthAddress: "127.0.0.1:19199",
	}
}

// Decode reads toy.json. The result is not validated.
func Decode(data []byte) (Config, error) { return agentfile.Decode(FileName, data, Default()) }

// Encode returns the content of toy.json.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(FileName, c) }

// Validate returns everything that is wrong with the configuration.
func (c Config) Validate() field.ErrorList {
	errs := agentfile.ValidateVersion(field.NewPath("version"), c.Version, Version)
	for _, p := range []struct{ name, path string }{
		{"nodesFile", c.NodesFile}, {"confDir", c.ConfDir}, {"binDir", c.BinDir}, {"socket", c.Socket}, {"stateDir", c.StateDir}, {"procSys", c.ProcSys},
	} {
		errs = append(errs, agentfile.ValidatePath(field.NewPath(p.name), p.path)...)
	}
	return append(errs, agentfile.ValidateListen(field.NewPath("healthAddress"), c.HealthAddress)...)
}

// Nodes is nodes.json: the nodes by name.
type Nodes struct {
	Nodes map[string]Node `json:"nodes"`
}

// Node is what the agents know of a node.
type Node struct {
	// Address is where other nodes send the packets for its pods.
	Address netip.Addr `json:"address"`
	// Block is where its pods have their addresses.
	Block netip.Prefix `json:"block"`
}

// DecodeNodes reads nodes.json.
func DecodeNodes(data []byte) (Nodes, error) { return agentfile.Decode(NodesFile, data, Nodes{}) }

// Encode returns the content of nodes.json.
func (n Nodes) Encode() ([]byte, error) { return agentfile.Encode(NodesFile, n) }

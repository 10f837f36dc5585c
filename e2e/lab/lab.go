// Package lab runs a real Kubernetes cluster on one Linux machine, as root,
// without a container engine or a registry. Its nodes are sets of namespaces in
// which the usual components run. Labs with different names are isolated.
//
// Up creates a lab, Open returns the running one. Only one command at a time may
// call methods that change the lab; methods that read may be called any time.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/layout"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// Host describes the environment of a lab.
type Host struct {
	Layout layout.Layout
	// Program is the path of the lab binary, which runs the first process of each node.
	Program string
	// Out receives the progress of long commands.
	Out io.Writer
	// Now returns the current time, for certificates and reports.
	Now func() time.Time
}

// Record is the stored description of a running lab.
type Record struct {
	Topology topology.Topology `json:"topology"`
	// Images are the paths of archives that are loaded into every node in
	// addition to the lab's own images.
	Images []string `json:"images,omitempty"`
	// State is the state directory of the checkout that runs the lab.
	State string `json:"state"`
	// Server is the address on the machine's loopback device that is forwarded
	// to the cluster's API server.
	Server string `json:"server"`
	// Whole is true once the bring-up has succeeded.
	Whole bool `json:"whole"`
}

// Lab is a running lab, which may be incomplete.
type Lab struct {
	host   Host
	record Record
}

// ErrNone is the error of Open when there is no lab.
var ErrNone = errors.New("no lab is running on this machine: start one with lab up")

// Open returns the lab of the host's layout, or ErrNone.
func Open(h Host) (*Lab, error) {
	data, err := os.ReadFile(h.Layout.Record())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	l := &Lab{host: h}
	if err == nil {
		err = json.Unmarshal(data, &l.record)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the lab: %w", err)
	}
	return l, nil
}

// Topology returns the nodes and networks of the lab.
func (l *Lab) Topology() topology.Topology { return l.record.Topology }

// Whole reports whether the bring-up of the lab has succeeded.
func (l *Lab) Whole() bool { return l.record.Whole }

// Kubeconfig returns the path of a kubeconfig with cluster-admin permissions that
// works in the machine's own network namespace.
func (l *Lab) Kubeconfig() string { return l.host.Layout.Kubeconfig() }

// save writes the record of the lab atomically.
func (l *Lab) save() error {
	data, err := json.MarshalIndent(l.record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of the lab: %w", err)
	}
	if err := os.MkdirAll(l.host.Layout.Run(), 0o700); err != nil {
		return fmt.Errorf("record the lab: %w", err)
	}
	temp := l.host.Layout.Record() + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return fmt.Errorf("record the lab: %w", err)
	}
	if err := os.Rename(temp, l.host.Layout.Record()); err != nil {
		return fmt.Errorf("record the lab: %w", err)
	}
	return nil
}

// init returns the first process of a node, or the process of the underlay.
func (l *Lab) init(name string) (process.Process, error) {
	p, err := process.Load(l.host.Layout.Process(name))
	if err != nil {
		return p, err
	}
	if !p.Alive() {
		if name == underlay.Name {
			return p, errors.New("the process of the underlay has ended: remove the lab with lab down")
		}
		return p, fmt.Errorf("the node %s is off: start it with lab start %s", name, name)
	}
	return p, nil
}

// supervisor returns a client of the first process of a node.
func (l *Lab) supervisor(node string) *supervisor.Client {
	return supervisor.NewClient(l.host.Layout.Socket(node))
}

// branch returns the control group of a node or of the underlay.
func (l *Lab) branch(name string) string { return filepath.Join(l.host.Layout.Cgroup(), name) }

// logDir returns the directory of the logs of a node or of the underlay.
func (l *Lab) logDir(name string) string { return filepath.Join(l.record.State, "logs", name) }

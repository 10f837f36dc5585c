// Package lab runs a real Kubernetes cluster on one Linux machine, as root,
// without a container engine or a registry. Its nodes are namespaces; what runs
// on them is what runs on any node. Labs with different names do not meet.
//
// New and Up make a lab, Open finds the one that runs. A Lab's methods change
// the running lab one command at a time; only reading ones may overlap.
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

// Host is what a lab takes from its surroundings.
type Host struct {
	Layout layout.Layout
	// Program is the lab program: nodes are held by processes of it.
	Program string
	// Out takes the progress of long commands.
	Out io.Writer
	// Now is the clock that certificates and reports use.
	Now func() time.Time
}

// Record is what is remembered of a running lab.
type Record struct {
	Topology topology.Topology `json:"topology"`
	// Images are the paths of the archives that every node gets beside the
	// lab's own images.
	Images []string `json:"images,omitempty"`
	// State is the state directory of the checkout that runs the lab.
	State string `json:"state"`
	// Server is the address, on the machine's loopback, that leads to the
	// cluster's API server.
	Server string `json:"server"`
	// Whole is true once the bring-up was done with.
	Whole bool `json:"whole"`
}

// Lab is a lab that runs, wholly or in part.
type Lab struct {
	host   Host
	record Record
}

// ErrNone is the error of Open when there is no lab.
var ErrNone = errors.New("no lab is running on this machine: start one with lab up")

// Open finds the lab of the host's layout.
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

// Topology is what the lab is made of.
func (l *Lab) Topology() topology.Topology { return l.record.Topology }

// Whole says whether the lab was brought up without a failure.
func (l *Lab) Whole() bool { return l.record.Whole }

// Kubeconfig is the path of a kubeconfig that works in the machine's own
// network namespace, with all rights.
func (l *Lab) Kubeconfig() string { return l.host.Layout.Kubeconfig() }

// save records the lab, in one step so that a crash leaves the record whole.
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
			return p, errors.New("the underlay's process is gone: take the lab down with lab down")
		}
		return p, fmt.Errorf("the node %s is off: start it with lab start %s", name, name)
	}
	return p, nil
}

// supervisor speaks to the first process of a node.
func (l *Lab) supervisor(node string) *supervisor.Client {
	return supervisor.NewClient(l.host.Layout.Socket(node))
}

// branch is where a node, or the underlay, is in the control groups of the machine.
func (l *Lab) branch(name string) string { return filepath.Join(l.host.Layout.Cgroup(), name) }

// logDir is where the logs of a node, or of the underlay, lie.
func (l *Lab) logDir(name string) string { return filepath.Join(l.record.State, "logs", name) }

package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/e2e/lab/component"
	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
)

// NetworkConformance is the focus that chooses Kubernetes' own conformance
// tests of the network.
const NetworkConformance = `\[sig-network\].*\[Conformance\]`

// ConformanceOptions choose tests by regular expressions on their names.
type ConformanceOptions struct {
	Focus, Skip string
}

// Conformance builds Kubernetes' own tests and the images they want, and runs
// them from the first control-plane node, which reaches all nodes and pods. What
// they print goes to the lab's output; reports and the full log stay in the
// layout's conformance folder. Tests that fail make an error.
func (l *Lab) Conformance(ctx context.Context, o ConformanceOptions) error {
	if err := Build(ctx, l.host, []string{component.E2ETest().Name}); err != nil {
		return err
	}
	archives, err := BuildImages(ctx, l.host, true)
	if err != nil {
		return err
	}
	if _, err := l.LoadImages(ctx, archives); err != nil {
		return err
	}
	dir := l.host.Layout.Conformance()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of reports: %w", err)
	}
	cp := l.record.Topology.ControlPlanes()[0]
	init, err := l.init(cp.Name)
	if err != nil {
		return err
	}
	kubeconfig, err := machine.DiskPath(layout.Disk(cp.Name), adminConfig)
	if err != nil {
		return err
	}
	// Only the network is the node's: the tests see this machine's files.
	cmd := inNetwork(ctx, init.PID, l.host.Layout.Program(component.E2ETest().Name),
		"--kubeconfig="+kubeconfig,
		"--provider=skeleton",
		"--ginkgo.focus="+o.Focus,
		"--ginkgo.skip="+o.Skip,
		"--ginkgo.no-color",
		"--report-dir="+dir,
		"--non-blocking-taints=node-role.kubernetes.io/control-plane",
	)
	cmd.Env = append(os.Environ(), config.Environment()...)
	cmd.Stdout, cmd.Stderr = l.host.Out, l.host.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("conformance: %w: reports are in %s", err, dir)
	}
	return nil
}

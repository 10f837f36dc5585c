package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/component"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
)

// NetworkConformance is the focus that selects Kubernetes' conformance tests of
// the network.
const NetworkConformance = `\[sig-network\].*\[Conformance\]`

// ConformanceOptions select tests by regular expressions on their names.
type ConformanceOptions struct {
	Focus, Skip string
	// Kill, if not nil, is the DaemonSet whose containers are killed every 30 seconds while the tests run.
	Kill *DaemonSet
}

// interruptTimeout is the time limit for the cleanup of interrupted tests.
const interruptTimeout = time.Minute

// Conformance builds Kubernetes' tests and their images, and runs the tests in
// the network namespace of the first control-plane node, from which all nodes and
// pods are reachable. It prints one line per test and the summary; the whole
// output and the JUnit report are stored in the layout's conformance directory.
// Failed tests result in an error, and so do kills that did not happen.
func (l *Lab) Conformance(ctx context.Context, o ConformanceOptions) error {
	var programs []string
	for _, c := range component.Conformance() {
		programs = append(programs, c.Name)
	}
	if err := Build(ctx, l.host, "", programs); err != nil {
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
		return fmt.Errorf("create the directory of reports: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, "e2e.log"))
	if err != nil {
		return fmt.Errorf("open the log of the tests: %w", err)
	}
	defer log.Close()
	p := newProgress(l.host.Out)
	err = l.withKills(ctx, o.Kill, func() error { return l.runConformance(ctx, o, dir, io.MultiWriter(log, p)) })
	if err == nil && p.done == 0 {
		err = fmt.Errorf("no test matches %q", o.Focus)
	}
	if err != nil {
		return fmt.Errorf("conformance: %w; the output and the report of the tests are in %s", err, dir)
	}
	return nil
}

func (l *Lab) runConformance(ctx context.Context, o ConformanceOptions, dir string, out io.Writer) error {
	cp := l.record.Topology.ControlPlanes()[0]
	init, err := l.init(cp.Name)
	if err != nil {
		return err
	}
	kubeconfig, err := machine.DiskPath(l.host.Layout.Disk(cp.Name), adminConfig)
	if err != nil {
		return err
	}
	// The tests share only the network namespace of the node, not its files.
	cmd := inNetwork(ctx, init.PID, l.host.Layout.Program(component.E2ETest().Name),
		"--kubeconfig="+kubeconfig,
		"--kubectl-path="+l.host.Layout.Program("kubectl"),
		"--provider=skeleton",
		"--non-blocking-taints=node-role.kubernetes.io/control-plane",
		"--report-dir="+dir,
		"--ginkgo.focus="+o.Focus,
		"--ginkgo.skip="+o.Skip,
		"--ginkgo.no-color",
		"--ginkgo.v",
	)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptTimeout
	return cmd.Run()
}

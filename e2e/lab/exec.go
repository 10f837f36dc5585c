package lab

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// Command returns a command that runs on a node or an outside host, with the node's binaries in its
// PATH. If node is the name of the underlay, the command runs on the machine in the network namespace of the
// underlay, as a host outside the cluster.
//
// The end of the context kills the process that enters the node, not the command in it. For a command that may not
// end, set a process group to kill.
func (l *Lab) Command(ctx context.Context, node, program string, args ...string) (*exec.Cmd, error) {
	if node != underlay.Name {
		if _, err := l.record.Topology.Machine(node); err != nil {
			return nil, err
		}
	}
	p, err := l.init(node)
	if err != nil {
		return nil, err
	}
	if node == underlay.Name {
		return inNetwork(ctx, p.PID, program, args...), nil
	}
	// env looks up the program in the PATH of the node.
	args = append(append([]string{"-i"}, config.Environment()...), append([]string{program}, args...)...)
	return machine.Enter(ctx, p.PID, "env", args...), nil
}

// inNetwork returns a command that shares only the network namespace of a process.
func inNetwork(ctx context.Context, pid int, program string, args ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(pid), "--net", "--", program}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// output runs a command on a node and returns its standard output.
func (l *Lab) output(ctx context.Context, node, program string, args ...string) ([]byte, error) {
	cmd, err := l.Command(ctx, node, program, args...)
	if err != nil {
		return nil, err
	}
	// The context kills the process that enters the node; the program in the node is
	// its child and would survive without the process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return outputOf(cmd, strings.Join(append([]string{program}, args...), " "))
}

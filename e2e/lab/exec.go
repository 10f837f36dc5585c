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

// Command makes a command that runs on a node or a host outside, with the node's programs in its
// path. The underlay may be named too: then the command runs on the machine, in
// the network that the nodes hang off, as a host outside the cluster.
//
// The end of the context ends what carries the command into the node, not the
// command: give what may not end by itself a process group to kill.
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
	// By way of env, so that the program is looked for in the node's path.
	args = append(append([]string{"-i"}, config.Environment()...), append([]string{program}, args...)...)
	return machine.Enter(ctx, p.PID, "env", args...), nil
}

// inNetwork makes a command that has nothing but its network from a node.
func inNetwork(ctx context.Context, pid int, program string, args ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(pid), "--net", "--", program}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// output runs a command on a node and returns what it prints.
func (l *Lab) output(ctx context.Context, node, program string, args ...string) ([]byte, error) {
	cmd, err := l.Command(ctx, node, program, args...)
	if err != nil {
		return nil, err
	}
	// What is killed when the time is up stands outside the node; the program
	// inside is its child and would live on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return outputOf(cmd, strings.Join(append([]string{program}, args...), " "))
}

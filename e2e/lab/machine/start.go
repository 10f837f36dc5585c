package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
)

// readyByte is the byte that Init writes when the node is ready; anything else is an error.
const readyByte = 0

// Files that Init inherits, by descriptor.
const (
	ListenerFD = 3
	ReadyFD    = 4
	SpecFD     = 5
)

// Launch has the parameters for the start of a node's first process.
type Launch struct {
	// Program and Args start a process that calls Init.
	Program string
	Args    []string
	// Socket is the path of the supervisor's socket.
	Socket string
	// Log is the file to which the output of the process is appended.
	Log string
}

// Start brings a node up: its namespaces, its file systems and its supervisor,
// without units or network devices. The process outlives the caller.
func Start(ctx context.Context, s Spec, l Launch) (process.Process, error) {
	if err := cgroup.Create(s.Cgroup, s.Cgroups); err != nil {
		return process.Process{}, err
	}
	listener, err := listen(l.Socket)
	if err != nil {
		return process.Process{}, err
	}
	defer listener.Close()
	spec, err := specFile(s)
	if err != nil {
		return process.Process{}, err
	}
	defer spec.Close()
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return process.Process{}, fmt.Errorf("create a pipe: %w", err)
	}
	defer readyR.Close()
	p, err := process.Spawn(process.Command{
		Program: l.Program, Args: l.Args, Log: l.Log,
		Files:      []*os.File{listener, readyW, spec},
		Namespaces: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	})
	readyW.Close()
	if err != nil {
		return p, fmt.Errorf("start the node %s: %w", s.Name, err)
	}
	return p, awaitReady(ctx, s.Name, readyR)
}

// listen opens the socket as a file that a child can inherit.
func listen(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of %s: %w", path, err)
	}
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the node: %w", err)
	}
	// The socket file must remain when this process closes its listener.
	l.SetUnlinkOnClose(false)
	defer l.Close()
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("listen for the node: %w", err)
	}
	return f, nil
}

// specFile returns an anonymous file with the spec.
func specFile(s Spec) (*os.File, error) {
	f, err := os.CreateTemp("", "lab-node-")
	if err != nil {
		return nil, fmt.Errorf("hand the node its spec: %w", err)
	}
	err = errors.Join(os.Remove(f.Name()), json.NewEncoder(f).Encode(s))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("hand the node its spec: %w", err)
	}
	return f, nil
}

func awaitReady(ctx context.Context, node string, r *os.File) error {
	stop := context.AfterFunc(ctx, func() { _ = r.Close() })
	defer stop()
	report, err := io.ReadAll(r)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("wait for the node %s: %w", node, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("wait for the node %s: %w", node, err)
	case len(report) == 0:
		return fmt.Errorf("the first process of node %s ended during its start: see its log", node)
	case report[0] != readyByte:
		return fmt.Errorf("node %s: %s", node, strings.TrimSpace(string(report)))
	}
	return nil
}

// Enter returns a command that runs in the node whose first process is pid. The
// caller sets input, output and environment.
func Enter(ctx context.Context, pid int, program string, args ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(pid), "--mount", "--net", "--uts", "--pid", "--", program}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

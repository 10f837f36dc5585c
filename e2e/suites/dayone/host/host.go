// Package host makes hosts out of Linux namespaces, for tests of host networking with real daemons: a root file system
// of Debian packages, a network, mounts, processes and a host name of its own. What a host writes stays on its disk,
// except below /run, as on a real one. No daemon of a host sees the machine's network, files or message bus.
package host

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

//go:embed boot.sh
var bootScript string

// Host is a host, off or on. Its methods fail the test that made it.
type Host struct {
	// Name is the host name that it boots with.
	Name string
	// Settings are kernel settings at boot, of the form net/ipv4/ip_forward=1.
	Settings []string

	t    testing.TB
	root string
	disk string
	init *exec.Cmd
	pid  int
	wire func() // plugs the cables in
}

// New makes a host that is off, with an empty disk over a root file system. It is off for good at the end of the test.
func New(t testing.TB, root, name string) *Host {
	t.Helper()
	// Not the test's own directory: a comma in the name of a test would be one in the options of a mount.
	disk, err := os.MkdirTemp("", "host-") //nolint:usetesting // sockets lie in it, whose paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	h := &Host{Name: name, t: t, root: root, disk: disk}
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(h.disk, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(h.PowerOff)
	return h
}

// Boot powers the host on. No daemon runs yet; its network has what Wire plugged in.
func (h *Host) Boot() {
	h.t.Helper()
	args := append([]string{
		"--mount", "--net", "--uts", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", bootScript, "sh", h.root, h.disk, h.Name,
	}, h.Settings...)
	h.init = exec.Command("unshare", args...)
	// A test that is killed takes its hosts with it.
	h.init.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	h.init.Stdout, h.init.Stderr = &out, &out
	if err := h.init.Start(); err != nil {
		h.t.Fatalf("boot %s: %v", h.Name, err)
	}
	h.Eventually(time.Minute, "the host "+h.Name+" is up", func() error {
		pid, err := child(h.init.Process.Pid)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out.String())
		}
		h.pid = pid
		_, err = os.Stat(fmt.Sprintf("/proc/%d/root/run/booted", pid))
		return err
	})
	if h.wire != nil {
		h.wire()
	}
}

// errGone is the answer to a question about a program that has ended, or has not begun.
var errGone = errors.New("the first process does not exist")

// child is the only child of a process.
func child(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) != 1 {
		return 0, errGone
	}
	number, err := strconv.Atoi(fields[0])
	if err == nil && number <= 1 {
		err = fmt.Errorf("%d is the number of no process of ours", number)
	}
	return number, err
}

// PowerOff ends every process at once and forgets the network and /run, as a power cut does. The disk stays.
func (h *Host) PowerOff() {
	if h.init == nil {
		return
	}
	// Without a process of its own the host did not come up; the number 0 would be this process's whole group.
	if h.pid > 1 {
		_ = syscall.Kill(h.pid, syscall.SIGKILL)
	}
	_ = h.init.Process.Kill()
	_ = h.init.Wait()
	h.init, h.pid = nil, 0
}

// Command is a program of the host, not started yet. The host must be on.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(h.pid), "--mount", "--net", "--uts", "--pid", "--root", "--wd", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	return cmd
}

// Kill ends a program, which has begun, without warning. What Command starts is nsenter; the program is its child. A program that was
// quicker and has exited already is not killed: on a busy machine that happens at the last of its steps.
func (h *Host) Kill(cmd *exec.Cmd) {
	h.t.Helper()
	pid, err := child(cmd.Process.Pid)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil && !errors.Is(err, errGone) && !errors.Is(err, syscall.ESRCH) {
		h.t.Fatalf("kill the program: %v", err)
	}
}

// Try runs a program and returns what it printed, on both outputs; the error holds that too.
func (h *Host) Try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := h.Command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Run is Try for what must succeed.
func (h *Host) Run(name string, args ...string) string {
	h.t.Helper()
	out, err := h.Try(name, args...)
	if err != nil {
		h.t.Fatalf("on %s: %v", h.Name, err)
	}
	return out
}

// Write writes a file of the host, which must be on. Directories are made as needed.
func (h *Host) Write(path, content string, mode os.FileMode) {
	h.t.Helper()
	real := h.Path(path)
	if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(real, []byte(content), mode); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(real, mode); err != nil {
		h.t.Fatal(err)
	}
}

// Path is where a file of the host, which must be on, is seen from outside.
func (h *Host) Path(path string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", h.pid), path)
}

// Eventually polls until a function succeeds, and fails the test with its last error when the time is up.
func (h *Host) Eventually(limit time.Duration, what string, f func() error) {
	h.t.Helper()
	kit.Eventually(h.t, limit, what, func(context.Context) error { return f() })
}

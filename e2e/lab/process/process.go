// Package process starts processes that outlive the command that started them,
// and records them so that later commands can identify them.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process identifies a process uniquely, also across reboots: its PID may be
// reused, but not with the same start time in the same boot.
type Process struct {
	PID int `json:"pid"`
	// Start is the start time, in clock ticks since boot.
	Start uint64 `json:"start"`
	// Boot is the machine's boot id.
	Boot string `json:"boot"`
}

// Command is a process to spawn.
type Command struct {
	Program string
	Args    []string
	// Log is the file to which the output of the process is appended.
	Log string
	// Files are inherited from descriptor 3 on.
	Files []*os.File
	// Namespaces are the CLONE_NEW flags of the new namespaces of the process.
	Namespaces uintptr
}

// Spawn starts a process in a session of its own, with the caller's environment.
func Spawn(c Command) (Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
		return Process{}, fmt.Errorf("create the log directory: %w", err)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: c.Namespaces}
	if err := cmd.Start(); err != nil {
		return Process{}, fmt.Errorf("start %s: %w", filepath.Base(c.Program), err)
	}
	p, err := Find(cmd.Process.Pid)
	// Wait for it while this command runs, otherwise it would become a zombie
	// that Alive reports as running.
	go func() { _ = cmd.Wait() }()
	return p, err
}

// Find identifies the process that currently has a PID.
func Find(pid int) (Process, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, fmt.Errorf("read the boot id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	start, err := startTime(string(stat))
	if err != nil {
		return Process{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// startTime is field 22 of /proc/PID/stat (proc(5)). Field 2, the name, may
// hold anything, so fields are counted from its closing parenthesis.
func startTime(stat string) (uint64, error) {
	_, rest, ok := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(rest)
	const afterName = 22 - 3
	if !ok || len(fields) <= afterName {
		return 0, fmt.Errorf("unexpected process state %q", stat)
	}
	return strconv.ParseUint(fields[afterName], 10, 64)
}

// Alive reports whether the process is running.
func (p Process) Alive() bool {
	if p.PID == 0 {
		return false
	}
	now, err := Find(p.PID)
	return err == nil && now == p && !zombie(p.PID)
}

func zombie(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(status), "State:\tZ")
}

// killPoll is short compared to the time the kernel takes to end a process.
const killPoll = 10 * time.Millisecond

// Kill sends SIGKILL to the process and waits until it has ended. It does not
// affect another process that has reused its PID.
func (p Process) Kill(ctx context.Context) error {
	for p.Alive() {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", p.PID, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", p.PID, context.Cause(ctx))
		case <-time.After(killPoll):
		}
	}
	return nil
}

// Save records the process in a file.
func (p Process) Save(path string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the record of process %d: %w", p.PID, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("record process %d: %w", p.PID, err)
	}
	return nil
}

// Load reads a record; a missing one yields the zero Process, which is not alive.
func Load(path string) (Process, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Process{}, nil
	}
	var p Process
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return Process{}, fmt.Errorf("read the record %s: %w", path, err)
	}
	return p, nil
}

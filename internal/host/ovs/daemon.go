package ovs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/agent"
)

const (
	// stopTimeout is the time between SIGTERM and SIGKILL.
	stopTimeout = 5 * time.Second
	// settledTime is how long a process runs until its next end does not add to the back-off.
	settledTime = 10 * time.Second
)

// Daemon is a foreground process of Open vSwitch or OVN. Name and Log must be set.
type Daemon struct {
	// Name is the command, Arguments are its arguments, and Environment has variables in addition to those of the caller.
	Name                   string
	Arguments, Environment []string
	// Namespace is the path of its network namespace; empty is the current one.
	Namespace string
	// Prepare is called before each start; it may be nil.
	Prepare func(context.Context) error
	// Started is called with the PID after the start; it may be nil.
	Started func(pid int) error
	// End requests the end of the process; if it is nil or returns an error, SIGTERM is sent.
	End func(context.Context) error
	// Level returns the log level of an output line; nil parses the format of Open vSwitch.
	Level func(line string) slog.Level
	Log   *slog.Logger
}

// Keep runs the process until the context ends, and restarts it when it ends: at once if it ran for ten seconds, otherwise with back-off. It returns nil.
func (d Daemon) Keep(ctx context.Context) error {
	var ends agent.Backoff
	for ctx.Err() == nil {
		start := time.Now()
		err := d.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		d.Log.Error("process has ended, restarting", "process", d.Name, "error", err)
		now := time.Now()
		agent.Pause(ctx, restartDelay(&ends, now.Sub(start), now), nil)
	}
	return nil
}

// restartDelay returns the delay before a process is restarted that ran for some time. A node has no network without Open vSwitch: a process that crashes once
// a minute must not leave the node without one for most of that minute.
func restartDelay(ends *agent.Backoff, ran time.Duration, now time.Time) time.Duration {
	if ran >= settledTime {
		*ends = agent.Backoff{}
	}
	return ends.Next(now)
}

// Run runs the process once. When the context ends, it requests the end of the process, and kills it after some seconds. It logs the process' standard
// error with the levels of its lines. The error is nil if the context has ended.
func (d Daemon) Run(ctx context.Context) error {
	if d.Prepare != nil {
		if err := d.Prepare(ctx); err != nil {
			return fmt.Errorf("prepare %s: %w", d.Name, err)
		}
	}
	cmd := exec.CommandContext(ctx, d.Name, d.Arguments...)
	cmd.Env = append(cmd.Environ(), d.Environment...)
	cmd.Cancel = func() error { return d.end(ctx, cmd) }
	cmd.WaitDelay = stopTimeout
	output, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", d.Name, err)
	}
	start := cmd.Start
	if d.Namespace != "" {
		// A process gets the namespace of the thread that starts it.
		start = func() error { return ns.WithNetNSPath(d.Namespace, func(ns.NetNS) error { return cmd.Start() }) }
	}
	if err := start(); err != nil {
		return fmt.Errorf("start %s: %w", d.Name, err)
	}
	if d.Started != nil {
		if err := d.Started(cmd.Process.Pid); err != nil {
			return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
	}
	d.copyLog(output)
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	return nil
}

func (d Daemon) end(ctx context.Context, cmd *exec.Cmd) error {
	if d.End != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout/2)
		defer cancel()
		if d.End(limited) == nil {
			return nil
		}
	}
	return cmd.Process.Signal(syscall.SIGTERM)
}

// copyLog logs the output of a process until it ends.
func (d Daemon) copyLog(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		level := levelOf
		if d.Level != nil {
			level = d.Level
		}
		d.Log.Log(context.Background(), level(lines.Text()), lines.Text(), "process", d.Name)
	}
	_, _ = io.Copy(io.Discard, output) // after a line that is too long, do not block the process
}

// levelOf returns the log level of a line of Open vSwitch or OVN.
func levelOf(line string) slog.Level {
	switch parts := strings.SplitN(line, "|", 5); {
	case len(parts) != 5: // no log line: the error message of a process that exits
		return slog.LevelError
	case parts[3] == "ERR" || parts[3] == "EMER":
		return slog.LevelError
	case parts[3] == "WARN":
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

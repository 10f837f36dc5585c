package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Reap waits for child processes until the context is done: for those of units,
// which it restarts, and for orphans, which the first process of a PID namespace
// inherits. No other part of the program may wait for children.
func (s *Supervisor) Reap(ctx context.Context) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	for {
		s.collect()
		select {
		case <-children:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Supervisor) collect() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		s.ended(pid, status)
	}
}

// ended handles the end of a process. A process starts and is
// registered under one lock, so every unit's process is known here.
func (s *Supervisor) ended(pid int, status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.units {
		if r.status.PID != pid {
			continue
		}
		r.status.PID = 0
		r.status.LastExit = describe(status)
		close(r.ended)
		s.log.Info("ended", "unit", r.unit.Name, "pid", pid, "how", r.status.LastExit)
		if r.status.State == Running {
			r.status.State = Waiting
			r.status.Restarts++
			s.restart(r)
		}
	}
}

func (s *Supervisor) restart(r *running) {
	r.timer = time.AfterFunc(s.restartDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.status.State != Waiting {
			return
		}
		if err := s.launch(r); err != nil {
			s.log.Error("restart", "unit", r.unit.Name, "err", err)
		}
	})
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "killed by " + unix.SignalName(s.Signal())
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

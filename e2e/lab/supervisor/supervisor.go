package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Defaults of New, after what init systems use.
const (
	// RestartDelay is the time between the end of a unit and its restart.
	RestartDelay = time.Second
	// StopTimeout is the time limit for the end of a unit after SIGTERM.
	StopTimeout = 20 * time.Second
)

// Supervisor runs units. Its methods are safe for concurrent use.
type Supervisor struct {
	log          *slog.Logger
	restartDelay time.Duration

	mu    sync.Mutex
	units map[string]*running
}

// running is a unit and its process. ended is closed when that process has ended.
type running struct {
	unit   Unit
	status Status
	ended  chan struct{}
	timer  *time.Timer
}

// New returns a supervisor without units. The caller must run Reap.
func New(log *slog.Logger, restartDelay time.Duration) *Supervisor {
	return &Supervisor{log: log, restartDelay: restartDelay, units: map[string]*running{}}
}

// Start runs the unit and restarts it when it ends. If a unit of that name is
// running, Start does nothing.
func (s *Supervisor) Start(u Unit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.units[u.Name]
	if !known {
		r = &running{status: Status{Name: u.Name, State: Stopped}}
		s.units[u.Name] = r
	}
	if r.status.State == Running {
		return nil
	}
	r.stopTimer()
	r.unit = u
	return s.launch(r)
}

// launch starts the process. The caller holds the lock, so that Reap does not
// handle the end of the process before it is registered.
func (s *Supervisor) launch(r *running) error {
	log, err := openLog(r.unit.Log)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.unit.Name, err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.unit.Name, err)
	}
	defer null.Close()
	p, err := os.StartProcess(r.unit.Path, append([]string{r.unit.Path}, r.unit.Args...), &os.ProcAttr{
		Dir:   "/",
		Env:   r.unit.Env,
		Files: []*os.File{null, log, log},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		r.status.State = Stopped
		return fmt.Errorf("start %s: %w", r.unit.Name, err)
	}
	r.status.State, r.status.PID, r.ended = Running, p.Pid, make(chan struct{})
	s.log.Info("started", "unit", r.unit.Name, "pid", p.Pid)
	// Reap waits for every process, so the handle is not needed.
	return p.Release()
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Stop ends the unit with SIGTERM, or SIGKILL when the context is done, and does
// not restart it. It returns once the process has ended. Children of the process
// keep running, which a container runtime requires.
func (s *Supervisor) Stop(ctx context.Context, name string) error {
	ended, err := s.signalDown(name)
	if err != nil || ended == nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	if err := s.Signal(name, syscall.SIGKILL); err != nil {
		return err
	}
	<-ended
	return nil
}

func (s *Supervisor) signalDown(name string) (ended <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.unit(name)
	if err != nil {
		return nil, err
	}
	r.stopTimer()
	if r.status.State != Running {
		r.status.State = Stopped
		return nil, nil
	}
	r.status.State = Stopped
	return r.ended, kill(r.status.PID, syscall.SIGTERM)
}

// kill signals a process. One that has just been reaped, before its end is recorded, is no error.
func kill(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Signal sends a signal to the unit's process, which is restarted if it ends.
func (s *Supervisor) Signal(name string, sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.unit(name)
	if err != nil {
		return err
	}
	if r.status.PID == 0 {
		return nil
	}
	if err := kill(r.status.PID, sig); err != nil {
		return fmt.Errorf("signal %s: %w", name, err)
	}
	return nil
}

// Status returns the status of all units, sorted by name.
func (s *Supervisor) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Status, 0, len(s.units))
	for _, name := range slices.Sorted(maps.Keys(s.units)) {
		list = append(list, s.units[name].status)
	}
	return list
}

func (s *Supervisor) unit(name string) (*running, error) {
	r, ok := s.units[name]
	if !ok {
		return nil, fmt.Errorf("no unit is called %q, there are %v", name, slices.Sorted(maps.Keys(s.units)))
	}
	return r, nil
}

func (r *running) stopTimer() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

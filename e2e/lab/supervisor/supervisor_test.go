package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestExitedUnitIsRestarted(t *testing.T) {
	c := newClient(t)
	u := shell(t, "flaky", "echo once; exit 3")
	start(t, c, u)
	s := await(t, c, func(s Status) bool { return s.Restarts >= 2 })
	if s.LastExit != "exit status 3" {
		t.Errorf("last exit: %q", s.LastExit)
	}
	log, err := os.ReadFile(u.Log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(log), "once") < 2 {
		t.Errorf("the log does not hold what each process printed: %q", log)
	}
}

func TestKilledUnitIsRestarted(t *testing.T) {
	c := newClient(t)
	start(t, c, shell(t, "victim", "exec sleep 1000"))
	before := await(t, c, isRunning)
	if err := c.Signal(t.Context(), "victim", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	after := await(t, c, func(s Status) bool { return s.Restarts == 1 && isRunning(s) })
	if after.PID == before.PID || after.LastExit != "killed by SIGKILL" {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestStoppedUnitStaysDownUntilStarted(t *testing.T) {
	c := newClient(t)
	u := shell(t, "tidy", "exec sleep 1000")
	start(t, c, u)
	pid := await(t, c, isRunning).PID
	if err := c.Stop(t.Context(), "tidy"); err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("the process is still there")
	}
	if s := await(t, c, anything); s.State != Stopped || s.Restarts != 0 {
		t.Errorf("after the stop: %+v", s)
	}
	start(t, c, u)
	await(t, c, isRunning)
}

func TestStopCancelsAPendingRestart(t *testing.T) {
	c := newClient(t)
	start(t, c, shell(t, "flaky", "exit 1"))
	await(t, c, func(s Status) bool { return s.Restarts > 0 })
	if err := c.Stop(t.Context(), "flaky"); err != nil {
		t.Fatal(err)
	}
	first := await(t, c, func(s Status) bool { return s.State == Stopped })
	time.Sleep(5 * testRestartDelay)
	if s := await(t, c, anything); s.State != Stopped || s.Restarts != first.Restarts {
		t.Errorf("it was restarted: %+v", s)
	}
}

func TestUnitThatIgnoresTheRequestIsKilled(t *testing.T) {
	s := newSupervisor(t)
	ready := filepath.Join(t.TempDir(), "ready")
	if err := s.Start(shell(t, "deaf", "trap '' TERM; touch "+ready+"; while :; do sleep 1; done")); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, "the unit is ready", func() error {
		_, err := os.Stat(ready)
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx, "deaf"); err != nil {
		t.Fatal(err)
	}
	if got := s.Status()[0]; got.State != Stopped || got.LastExit != "killed by SIGKILL" {
		t.Errorf("after the stop: %+v", got)
	}
}

func TestStartingARunningUnitChangesNothing(t *testing.T) {
	c := newClient(t)
	u := shell(t, "steady", "exec sleep 1000")
	start(t, c, u)
	before := await(t, c, isRunning)
	start(t, c, u)
	if after := await(t, c, isRunning); after.PID != before.PID {
		t.Errorf("it was started again: %+v, before %+v", after, before)
	}
}

func TestInvalidRequestsReturnErrors(t *testing.T) {
	c := newClient(t)
	if err := c.Stop(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), `no unit is called "nobody"`) {
		t.Errorf("stop of an unknown unit: %v", err)
	}
	missing := Unit{Name: "missing", Path: "/no/such/program", Log: filepath.Join(t.TempDir(), "log")}
	if err := c.Start(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("start of a missing program: %v", err)
	}
}

const testRestartDelay = 20 * time.Millisecond

// newSupervisor collects ended processes until the test ends, when all that it
// runs is killed.
func newSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	s := New(slog.New(slog.DiscardHandler), testRestartDelay)
	ctx, cancel := context.WithCancel(context.Background())
	var reaping sync.WaitGroup
	reaping.Go(func() { s.Reap(ctx) })
	t.Cleanup(func() {
		gone, expire := context.WithCancel(context.Background())
		expire()
		for _, u := range s.Status() {
			if err := s.Stop(gone, u.Name); err != nil {
				t.Error(err)
			}
		}
		// The next test's processes are not for this supervisor to collect.
		cancel()
		reaping.Wait()
	})
	return s
}

// newClient connects to a supervisor over a real socket.
func newClient(t *testing.T) *Client {
	t.Helper()
	s := newSupervisor(t)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s.Handler())
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return NewClient(socket)
}

func shell(t *testing.T, name, script string) Unit {
	t.Helper()
	return Unit{
		Name: name, Path: "/bin/sh", Args: []string{"-c", script},
		Env: []string{"PATH=/usr/bin:/bin"}, Log: filepath.Join(t.TempDir(), name+".log"),
	}
}

func start(t *testing.T, c *Client, u Unit) {
	t.Helper()
	if err := c.Start(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

func isRunning(s Status) bool { return s.State == Running && s.PID != 0 }

func anything(Status) bool { return true }

// await polls the only unit until it is as wanted.
func await(t *testing.T, c *Client, want func(Status) bool) Status {
	t.Helper()
	var list []Status
	eventually.Holds(t, "the unit is as wanted", func() (string, bool) {
		var err error
		if list, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", list), len(list) == 1 && want(list[0])
	})
	return list[0]
}

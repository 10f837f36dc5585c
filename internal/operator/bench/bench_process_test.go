package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// process is a program that runs. The kernel ends it when the benchmarks die.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// ready is the address that answers once it works; empty if there is none.
	ready string
}

// run starts a program, whose output goes to a file. It ends with the benchmark that it is given, at the latest.
func run(b testing.TB, dir string, environ []string, program string, arguments ...string) *process {
	b.Helper()
	out, err := os.CreateTemp(dir, filepath.Base(program)+"-*.log")
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	p := &process{cmd: exec.Command(program, arguments...), log: out.Name(), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environ, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // that it was killed is no news
		close(p.done)
	}()
	b.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if b.Failed() {
			content, _ := os.ReadFile(p.log) // without it, there is nothing to show
			b.Logf("end of the output of %s:\n%s", filepath.Base(program), content[max(0, len(content)-4000):])
		}
	})
	return p
}

// end sends a signal and waits for the end. It may be called again.
func (p *process) end(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal) // it may have ended
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// awaitReady waits until the process reports that it is ready, and returns when it did.
func (p *process) awaitReady(b testing.TB) time.Time {
	b.Helper()
	eventually(b, p.ready+" answers", 5*time.Millisecond, func() bool {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, p.ready, nil)
		if err != nil {
			b.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return time.Now()
}

// memory is how much of a process is resident, in megabytes.
type memory struct {
	// now is all of it, most is how much it was at most, own is what is not the program's file.
	now, most, own float64
}

func (p *process) memory(b testing.TB) memory {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	field := func(name string) float64 {
		match := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		if match == nil {
			b.Fatalf("no %s in %s", name, status)
		}
		kilobytes, _ := strconv.Atoi(string(match[1])) // it is digits
		return float64(kilobytes) * 1024 / 1e6
	}
	return memory{now: field("VmRSS"), most: field("VmHWM"), own: field("RssAnon")}
}

// forgetPeak has the kernel count the most memory of a process again.
func (p *process) forgetPeak(b testing.TB) {
	b.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		b.Fatal(err)
	}
}

// cpu returns how long the process has been computing. The kernel counts in hundredths of a second.
func (p *process) cpu(b testing.TB) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name of the program ends with the last parenthesis, and may itself contain some.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// build builds a program of this repository as a release does, and returns its path.
func build(b testing.TB, dir, name string) string {
	b.Helper()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), filepath.Join(root, "hack", "build-go.sh"), name)
	cmd.Env = append(os.Environ(), "OUT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return filepath.Join(dir, name)
}

// freeAddress returns an address of this machine that no one listens on.
func freeAddress(b testing.TB) string {
	b.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits until a condition holds, however busy the machine is.
func eventually(b testing.TB, what string, poll time.Duration, holds func() bool) {
	b.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			b.Fatalf("not within five minutes: %s", what)
		}
	}
}

package apitest

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the server of this test binary. A process has one, since starting it takes seconds.
var shared struct {
	once    sync.Once
	options Options
	server  *Server
	err     error
}

// idle are servers that tests have borrowed and returned.
var idle struct {
	sync.Mutex
	servers []*Server
}

// atOnce is how many tests of a binary run at a time, of those that may. Each waits for API servers and timers more than it computes.
const atOnce = "4"

// Main runs the tests of a binary and exits with their result. Shared gives them one server with these
// options, which starts when it is first asked for: a run that selects other tests does not wait for it.
// Tests that call Parallel run four at a time, independent of the number of processors, unless -parallel is set.
func Main(m *testing.M, options Options) {
	_ = flag.Set("test.parallel", atOnce) // an argument sets it again later
	shared.options = options
	code := m.Run()
	servers := idle.servers
	if shared.server != nil {
		if code != 0 {
			fmt.Fprintf(os.Stderr, "last lines of the API server's log:\n%s\n", shared.server.logTail())
		}
		servers = append(servers, shared.server)
	}
	for _, server := range servers {
		if err := server.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop API server: %v\n", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Shared returns the server of this test binary, whose TestMain must call Main. It fails the test if the
// server cannot be started.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = start(shared.options) })
	if shared.err != nil {
		tb.Fatalf("start API server: %v", shared.err)
	}
	return shared.server
}

// Borrow returns a server of this test binary that no other test uses until this one ends; it is started with the options of Main
// if all are in use. The test leaves it as it found it: what it creates, it deletes in functions that it passes to Cleanup. A
// server of a test that failed is stopped, since its state is unknown.
func Borrow(tb testing.TB) *Server {
	tb.Helper()
	server, err := borrow()
	if err != nil {
		tb.Fatalf("start API server: %v", err)
	}
	tb.Cleanup(func() {
		if !tb.Failed() {
			idle.Lock()
			defer idle.Unlock()
			idle.servers = append(idle.servers, server)
			return
		}
		tb.Logf("last lines of the API server's log:\n%s", server.logTail())
		if err := server.stop(); err != nil {
			tb.Errorf("stop API server: %v", err)
		}
	})
	return server
}

func borrow() (*Server, error) {
	idle.Lock()
	if last := len(idle.servers) - 1; last >= 0 {
		defer idle.Unlock()
		server := idle.servers[last]
		idle.servers = idle.servers[:last]
		return server, nil
	}
	idle.Unlock() // other tests do not wait for the start
	return start(shared.options)
}

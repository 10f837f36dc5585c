package apitest

import (
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

// Main runs the tests of a binary and exits with their result. Shared gives them one server with these
// options, which starts when it is first asked for: a run that selects other tests does not wait for it.
func Main(m *testing.M, options Options) {
	shared.options = options
	code := m.Run()
	if shared.server != nil {
		if code != 0 {
			fmt.Fprintf(os.Stderr, "last lines of the API server's log:\n%s\n", shared.server.logTail())
		}
		if err := shared.server.stop(); err != nil {
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

package ui

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// buffer is written by one goroutine and read by another.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run runs the command to its end, and returns the exit status and what it printed.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut buffer
	cmd := New(pipeline.Pipeline{Registry: networks.Registry()}, "v1", time.Now)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	status = exit.Report(&errOut, "cno", cmd.ExecuteContext(t.Context()))
	return status, out.String(), errOut.String()
}

// serve runs the command until the test ends without opening a browser, and returns the address that it printed, without the path, and the
// token.
func serve(t testing.TB, args ...string) (address, token string) {
	t.Helper()
	return start(t, append(args, "--no-open")...)
}

// start is like serve, but opens a browser unless the arguments forbid it.
func start(t testing.TB, args ...string) (address, token string) {
	t.Helper()
	var out, errOut buffer
	cmd := New(pipeline.Pipeline{Registry: networks.Registry()}, "v1", time.Now)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("cno ui ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("cno ui does not end")
		}
	})
	eventually.Holds(t, "cno ui prints its address", func() (string, bool) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("cno ui ended with %v\n%s", err, errOut.String())
		default:
		}
		return errOut.String(), strings.Contains(out.String(), "Ctrl-C")
	})
	printed, err := url.Parse(strings.Fields(out.String())[0])
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + printed.Host, printed.Query().Get("token")
}

// axe is the library that checks accessibility.
func axe(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

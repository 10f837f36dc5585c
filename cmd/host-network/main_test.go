package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

func TestPageDocumentsEveryCommandAndFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/programs/host-network.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	commands := append([]*cobra.Command{root}, root.Commands()...)
	for _, c := range commands {
		if c != root && !strings.Contains(string(page), "host-network "+c.Name()) {
			t.Errorf("the command %s is not on the page", c.Name())
		}
		for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && !strings.Contains(string(page), "--"+f.Name) {
					t.Errorf("--%s of %s is not on the page", f.Name, c.Name())
				}
			})
		}
	}
}

func newRoot() *cobra.Command { return command(slog.New(slog.DiscardHandler), &slog.LevelVar{}) }

// call runs the program, and returns its output and exit status.
func call(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	status := exit.Report(&out, "host-network", root.Execute())
	return out.String(), status
}

func TestSelect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"cluster.yml": "interfaces: []\n", "worker-0.yml": "interfaces: []\n", "empty.yml": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		host, want string
		status     int
	}{
		{"worker-0.example.com", "worker-0.yml: ", exit.OK},
		{"worker-1", "cluster.yml: ", exit.OK},
		{"empty", "host-network: empty.yml is empty", exit.Refused},
	} {
		if out, status := call(t, "select", "--documents", dir, "--host", tt.host); !strings.HasPrefix(out, tt.want) || status != tt.status {
			t.Errorf("for %s: %d, %q", tt.host, status, out)
		}
	}
	if out, status := call(t, "select", "--documents", t.TempDir()); !strings.HasPrefix(out, "none: ") || status != exit.OK {
		t.Errorf("without documents: %d, %q", status, out)
	}
}

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		why, report, want string
		status            int
	}{
		{"all is well", `{"result":"applied","source":{"file":"worker-0.yml","why":"it is its own","sha256":"12"}}`,
			"applied worker-0.yml (sha256 12): it is its own", exit.OK},
		{"the host is as it was, not as it should be", `{"result":"rolled-back","source":{},"message":"no answer"}`, "rolled-back\nno answer", exit.Refused},
		{"a report that is none", `{`, "read ", exit.Unusable},
	} {
		file := filepath.Join(dir, "report.json")
		if err := os.WriteFile(file, []byte(tt.report), 0o600); err != nil {
			t.Fatal(err)
		}
		out, status := call(t, "status", "--report", file)
		if status != tt.status || tt.status != exit.Unusable && !strings.Contains(out, tt.want) {
			t.Errorf("%s: %d, %q", tt.why, status, out)
		}
	}
	if _, status := call(t, "status", "--report", filepath.Join(dir, "none")); status != exit.Unusable {
		t.Errorf("without a report the status is %d", status)
	}
}

func TestRunsWaitForOneAnother(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second run does not wait: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	second, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second(); err != nil {
		t.Error(err)
	}
}

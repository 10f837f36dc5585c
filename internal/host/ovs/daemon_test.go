package ovs_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
)

// TestLogOfADaemon: what a daemon writes is logged by its own levels, and why it gives up always.
func TestLogOfADaemon(t *testing.T) {
	var out strings.Builder
	d := ovs.Daemon{Name: "sh", Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "process" {
				return slog.Attr{}
			}
			return a
		},
	})), Arguments: []string{"-c", `exec >&2
echo '2026-01-02T03:04:05.678Z|00001|vlog|INFO|ready'
echo '2026-01-02T03:04:05.678Z|00002|vlog|WARN|slow'
echo '2026-01-02T03:04:05.678Z|00003|vlog|ERR|broken'
echo 'ovsdb-server: failed to create temporary file (Read-only file system)'
exit 1`}}
	if err := d.Run(t.Context()); err == nil || err.Error() != "sh: exit status 1" {
		t.Errorf("a process that fails: %v", err)
	}
	want := `level=DEBUG msg=2026-01-02T03:04:05.678Z|00001|vlog|INFO|ready
level=WARN msg=2026-01-02T03:04:05.678Z|00002|vlog|WARN|slow
level=ERROR msg=2026-01-02T03:04:05.678Z|00003|vlog|ERR|broken
level=ERROR msg="ovsdb-server: failed to create temporary file (Read-only file system)"
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

package cniplugins_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/cniplugins"
)

func write(t *testing.T, dir, name, content string, perm os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), perm); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestPluginsAreReplacedOnlyWhenTheyDiffer(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "same", "1", 0o755)
	write(t, from, "newer", "2", 0o644)
	write(t, from, "fresh", "3", 0o644)
	write(t, from, "broken", "4", 0o755)
	if err := os.Symlink(filepath.Join(from, "fresh"), filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(from, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, to, "same", "1", 0o755)
	write(t, to, "newer", "1", 0o755)
	write(t, to, "broken", "4", 0o644) // right content, but cannot be started
	write(t, to, "others", "x", 0o755)
	write(t, to, ".newer.unfinished-123", "half", 0o600)
	before, err := os.Stat(filepath.Join(to, "same"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cniplugins.Install(from, to, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"broken", "fresh", "link", "newer", "others", "same"}, names(t, to)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"same": "1", "newer": "2", "fresh": "3", "link": "3", "broken": "4", "others": "x"} {
		file := filepath.Join(to, name)
		got, err := os.ReadFile(file)
		info, statErr := os.Stat(file)
		if err != nil || statErr != nil || string(got) != want || info.Mode().Perm() != 0o755 {
			t.Errorf("%s holds %q with %v, %v", name, got, info.Mode(), err)
		}
	}
	after, err := os.Stat(filepath.Join(to, "same"))
	if err != nil || !os.SameFile(before, after) {
		t.Error("a file that was right has been replaced")
	}
}

func TestRunningPluginContinuesWhileReplaced(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, "plugin", string(content), 0o755)
	write(t, from, "plugin", string(content)+"newer", 0o755)
	running := exec.Command(filepath.Join(to, "plugin"), "60")
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cniplugins.Install(from, to, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("a running plugin cannot be replaced: %v", err)
	}
	if err := running.Process.Kill(); err != nil {
		t.Errorf("the program that ran has ended: %v", err)
	}
	_ = running.Wait()
}

func TestDirectoryWithoutPluginsIsAnError(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if err := cniplugins.Install(t.TempDir(), t.TempDir(), log); err == nil {
		t.Error("an empty directory is no error")
	}
	if err := cniplugins.Install(filepath.Join(t.TempDir(), "none"), t.TempDir(), log); err == nil {
		t.Error("no directory is no error")
	}
}

func TestMissingPluginsAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bridge", "", 0o755)
	if err := os.Mkdir(filepath.Join(dir, "portmap"), 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"host-local", "portmap"}, cniplugins.Missing(dir, "bridge", "host-local", "portmap")); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

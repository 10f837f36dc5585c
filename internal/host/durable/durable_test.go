package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

func TestFileIsReplacedAtomically(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "file")
	if err := durable.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(errors.New("disk on fire")))
	if err := durable.Copy(file, broken, 0o644); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("the error is %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "old" {
		t.Errorf("after a failure the file holds %q, %v", got, err)
	}
	if err := durable.WriteFile(file, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("permissions are %v, %v", info.Mode(), err)
	}
	if err := durable.Replace(file, []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "newer" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("there is more than the file: %v, %v", entries, err)
	}
}

func TestRemovedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := durable.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{"a file", "a file that does not exist"} {
		if err := durable.Remove(file); err != nil {
			t.Errorf("%s: %v", why, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if err := durable.Remove(filepath.Join(file, "in", "no", "directory")); err != nil {
		t.Errorf("a file in a directory that does not exist: %v", err)
	}
	dir := filepath.Dir(file)
	if err := durable.WriteFile(filepath.Join(dir, "full", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.Remove(filepath.Join(dir, "full")); err == nil {
		t.Error("a directory with files is removed")
	}
}

func TestUnchangedFileIsNotWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for i, want := range []struct {
		content string
		written bool
	}{{"a", true}, {"a", false}, {"b", true}} {
		if written, err := durable.WriteIfChanged(file, []byte(want.content), 0o600); err != nil || written != want.written {
			t.Errorf("write %d: written is %v, %v", i, written, err)
		}
	}
}

func TestTemporaryFilesOfACrashAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".file.unfinished-1", ".file.unfinished-2", ".other.unfinished-3"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.Clean(filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".other.unfinished-3" {
		t.Errorf("what is left is %v, %v", entries, err)
	}
}

func TestRenamedFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "new" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if err := durable.Rename(from, to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

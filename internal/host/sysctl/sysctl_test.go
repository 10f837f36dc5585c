package sysctl_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/sysctl"
)

func TestSet(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "net/ipv4/ip_forward")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sysctl.Set(root, "net/ipv4/ip_forward", "1"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	if err := sysctl.Set(root, "net/none", "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a setting that does not exist: %v", err)
	}
}

func TestReadOnlySettings(t *testing.T) {
	// The kernel refuses to write it, also for root.
	root, name := "/proc/sys", "net/ipv4/tcp_available_congestion_control"
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	current := strings.TrimSpace(string(content))
	if err := sysctl.Set(root, name, current); err != nil {
		t.Errorf("a setting that has the value is written: %v", err)
	}
	if err := sysctl.Set(root, name, "none"); err == nil || !strings.Contains(err.Error(), "is "+current+" and cannot be set to none") {
		t.Errorf("the error does not name both values: %v", err)
	}
}

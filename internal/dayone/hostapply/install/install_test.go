package install

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
)

func TestInstallMakesWhatSystemdWouldMake(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"a.service": {Data: []byte("[Install]\nRequiredBy=kubelet.service x.target\nWantedBy=y.target\n")},
		"b.service": {Data: []byte("[Service]\n")},
		"c.conf":    {Data: []byte("[connection]\n")},
	}
	// Twice, for a container does so each time it starts.
	for range 2 {
		if err := Install(root, program, files); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		got[name] = info.Mode().String()
		if info.Mode()&os.ModeSymlink != 0 {
			got[name], err = os.Readlink(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"usr/local/bin/host-network":                            "-rwxr-xr-x",
		"etc/systemd/system/a.service":                          "-rw-r--r--",
		"etc/systemd/system/b.service":                          "-rw-r--r--",
		"etc/NetworkManager/conf.d/c.conf":                      "-rw-r--r--",
		"etc/systemd/system/kubelet.service.requires/a.service": "/etc/systemd/system/a.service",
		"etc/systemd/system/x.target.requires/a.service":        "/etc/systemd/system/a.service",
		"etc/systemd/system/y.target.wants/a.service":           "/etc/systemd/system/a.service",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheProgramAloneLeavesUnitsToAMachineConfig(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Program(root, program); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, hostprogram.Binary)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(root, "etc")); !os.IsNotExist(err) {
		t.Errorf("something else was installed: %v", err)
	}
}

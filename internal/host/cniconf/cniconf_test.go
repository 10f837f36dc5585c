package cniconf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/cniconf"
)

func TestFile(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	f := cniconf.File{Dir: dir, Name: "10-toy.conflist"}
	list, err := cniconf.List{CNIVersion: "1.0.0", Name: "toy", Plugins: []any{cniconf.NewPortMap()}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(list, bin, "toy", "portmap"); err == nil || !strings.Contains(err.Error(), "not in "+bin+": toy, portmap") {
		t.Errorf("without the plugins: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, f.Name)); !os.IsNotExist(err) {
		t.Errorf("the file exists before the plugins: %v", err)
	}
	for _, name := range []string{"toy", "portmap"} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(list, bin, "toy", "portmap"); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "cniVersion": "1.0.0",
  "name": "toy",
  "plugins": [
    {
      "type": "portmap",
      "capabilities": {
        "portMappings": true
      }
    }
  ]
}
`
	if data, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	for range 2 {
		if err := f.Remove(); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
}

func TestConflicting(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"99-a.conf", "10-toy.conflist", "10-containerd-net.conflist", "00-multus.conf", "00-readme.txt", ".10-toy.conflist.x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := cniconf.File{Dir: dir, Name: "10-toy.conflist"}.Conflicting()
	if diff := cmp.Diff([]string{"00-multus.conf", "10-containerd-net.conflist"}, got); diff != "" || err != nil {
		t.Errorf("files that come first (-want +got):\n%s, %v", diff, err)
	}
	if got, err := (cniconf.File{Dir: dir + "/none", Name: "x"}).Conflicting(); err != nil || got != nil {
		t.Errorf("a directory that does not exist: %v, %v", got, err)
	}
}

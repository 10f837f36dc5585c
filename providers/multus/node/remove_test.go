package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

func TestRemoveCleansTheDirectories(t *testing.T) {
	dir, config := t.TempDir(), agentconfig.Default()
	for _, path := range []*string{&config.StateDir, &config.AddressDir, &config.DHCPDir, &config.Socket, &config.WhereaboutsSocket, &config.DHCPSocket, &config.PolicySocket} {
		*path = filepath.Join(dir, *path)
	}
	files := []string{
		config.Socket, config.WhereaboutsSocket, config.DHCPSocket, config.PolicySocket, filepath.Join(config.DHCPDir, "leases/l"), filepath.Join(config.AddressDir, "a.json"), filepath.Join(config.StateDir, "results/r"),
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // it may be repeated
		if err := Remove(config); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

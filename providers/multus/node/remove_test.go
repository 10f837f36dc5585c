package node

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

func TestRemoveCleansTheDirectories(t *testing.T) {
	dir, config := t.TempDir(), agentconfig.Default()
	for _, path := range []*string{&config.StateDir, &config.AddressDir, &config.DHCPDir, &config.Socket, &config.WhereaboutsSocket, &config.DHCPSocket, &config.PolicySocket, &config.PolicyDir, &config.DHCPLegacySocket, &config.SysctlFile} {
		*path = filepath.Join(dir, *path)
	}
	files := []string{
		config.Socket, config.WhereaboutsSocket, config.DHCPSocket, config.PolicySocket, filepath.Join(config.DHCPDir, "leases/l"), filepath.Join(config.AddressDir, "a.json"), filepath.Join(config.StateDir, "results/r"), filepath.Join(config.PolicyDir, "valid.json"),
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

// Without its record nothing could remove what a sandbox has got, also if the record can only be read by a later version.
func TestRecordsOfFurtherNetworksStay(t *testing.T) {
	config := agentconfig.Default()
	config.StateDir = t.TempDir()
	record := filepath.Join(config.StateDir, "sandboxes", "c1.json")
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, []byte(`{"format": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(config); err == nil || !strings.Contains(err.Error(), record+"; delete these pods") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(record); err != nil {
		t.Error(err)
	}
}

func TestTheSocketOfAnotherDaemonStays(t *testing.T) {
	path := filepath.Join(shortDir(t), "dhcp.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := removeSocket(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a socket at which a daemon serves is removed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be repeated
		if err := removeSocket(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a socket that a daemon has left stays")
	}
}

func TestANodeGetsTheDefaultSysctlsUnlessItHasAList(t *testing.T) {
	config := agentconfig.Default()
	config.SysctlFile = filepath.Join(t.TempDir(), "tuning/allowlist.conf")
	read := func() string {
		raw, err := os.ReadFile(config.SysctlFile)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(raw)
	}
	do := func(f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	install, remove := func() error { return InstallSysctls(config) }, func() error { return removeSysctls(config.SysctlFile) }
	do(install)
	if read() != sysctls.Default() || read() == "" {
		t.Errorf("a node without a list gets %q", read())
	}
	do(remove)
	do(remove)
	if read() != "" {
		t.Error("the default list stays")
	}
	const own = "^net.ipv4.conf.IFNAME.rp_filter$\n"
	do(func() error { return os.WriteFile(config.SysctlFile, []byte(own), 0o600) })
	do(install)
	do(remove)
	if read() != own {
		t.Errorf("the administrator's list became %q", read())
	}
}

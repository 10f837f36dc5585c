package ipsec

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPeersOfAnotherRelease: an agent that starts while the API server is unavailable knows its peers from the file of the agent before it, which may be of another
// release. Without them, packets to these nodes would be dropped.
func TestPeersOfAnotherRelease(t *testing.T) {
	const earlier = `[{"Name":"worker-0","Address":"192.0.2.10"},{"Name":"worker-1","Address":"192.0.2.11"}]`
	want := []Peer{{"worker-0", netip.MustParseAddr("192.0.2.10")}, {"worker-1", netip.MustParseAddr("192.0.2.11")}}
	file := peersFile(filepath.Join(t.TempDir(), "peers"))
	if err := os.WriteFile(string(file), []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	if peers, err := file.read(); err != nil || !slices.Equal(want, peers) {
		t.Errorf("read %v, error %v", peers, err)
	}
	if err := os.Remove(string(file)); err != nil {
		t.Fatal(err)
	}
	if err := file.write(want); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(string(file)); err != nil || string(text) != earlier {
		t.Errorf("the format has changed: %s, error %v", text, err)
	}
}

package node

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Files that an agent writes for the next one, which may be of another release.
const (
	earlierVNIDs = `{"kube-system":0,"shop":12345}`
	earlierFlows = `{"mode":"NetworkPolicy","vxlanPort":4789,"flows":"table=0,priority=0,actions=drop\n"}`
	// earlierRelease is the name of the file of a released address.
	earlierRelease = "released_ip.10.128.2.3"
)

// TestFilesOfAnotherRelease: a node forwards by the saved flows, and isolates by the saved VNIDs, until the API server responds, and does not reuse addresses
// that were released a moment ago.
func TestFilesOfAnotherRelease(t *testing.T) {
	config := agentconfig.Config{StateDir: t.TempDir(), AddressDir: t.TempDir(), Mode: agentconfig.NetworkPolicy, VXLANPort: 4789}
	released := filepath.Join(config.AddressDir, agentconfig.Plugin, earlierRelease)
	if err := os.Mkdir(filepath.Dir(released), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{vnidFile(config): earlierVNIDs, flowsFile(config): earlierFlows, released: "id\r\neth0"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &daemon{Options: Options{Config: config}, keeper: &flows.Keeper{}, addresses: newAddresses(config.AddressDir, "worker-0", time.Now)}
	if err := d.load(); err != nil {
		t.Fatal(err)
	}
	if want := map[string]uint32{"kube-system": 0, "shop": 12345}; !maps.Equal(want, d.known) {
		t.Errorf("VNIDs %v, expected %v", d.known, want)
	}
	kept, _, err := agent.LoadState[savedFlows](flowsFile(config))
	if want := (savedFlows{agentconfig.NetworkPolicy, 4789, "table=0,priority=0,actions=drop\n"}); err != nil || kept != want {
		t.Errorf("flows %+v, error %v", kept, err)
	}
	block, first := netip.MustParsePrefix("10.128.2.0/23"), netip.MustParseAddr("10.128.2.3")
	if next, err := d.addresses.give(block, "next", "eth0"); err != nil || next != first.Next() {
		t.Errorf("after the release of %s, a pod has address %s, error %v", first, next, err)
	}
	if err := os.Remove(released); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(released), first.String()), []byte("id\r\neth0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.addresses.release("id", "eth0"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(released); err != nil {
		t.Errorf("the format of releases has changed: %v", err)
	}
	d.known = nil
	d.saveVNIDs(map[string]uint32{"shop": 12345, "kube-system": 0})
	d.saved = ""
	d.saveFlows(openflow.Verbatim("table=0,priority=0,actions=drop\n"))
	for file, want := range map[string]string{vnidFile(config): earlierVNIDs, flowsFile(config): earlierFlows} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != want {
			t.Errorf("the format of %s has changed: %s", file, text)
		}
	}
}

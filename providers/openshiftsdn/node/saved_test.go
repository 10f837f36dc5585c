package node

import (
	"maps"
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Files that an agent writes for the next one, which may be of another release.
const (
	earlierVNIDs = `{"kube-system":0,"shop":12345}`
	earlierFlows = `{"mode":"NetworkPolicy","vxlanPort":4789,"flows":"table=0,priority=0,actions=drop\n"}`
)

// TestFilesOfAnotherRelease: a node forwards by the saved flows, and isolates by the saved VNIDs, until the API server responds.
func TestFilesOfAnotherRelease(t *testing.T) {
	config := agentconfig.Config{StateDir: t.TempDir(), Mode: agentconfig.NetworkPolicy, VXLANPort: 4789}
	for file, text := range map[string]string{vnidFile(config): earlierVNIDs, flowsFile(config): earlierFlows} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &daemon{Options: Options{Config: config}, keeper: &flows.Keeper{}}
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

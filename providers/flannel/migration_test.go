package flannel

import (
	"bytes"
	"testing"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestAgentsEnterPodsOnlyDuringAMigration(t *testing.T) {
	for _, migrating := range []bool{false, true} {
		config := agentconfig.Default()
		if migrating {
			config.MTU, config.Migration = 1450, &agentconfig.MTUMigration{Step: 1, RoutableMTU: 1400, PodNamespaces: mtumigration.PodNamespaces}
		}
		list := manifest.List{Assets: assets}
		addAgents(&list, "image", "info", config, facts.HostPort{})
		objects, err := list.Result()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := objects[0].Object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, right := range []string{"SYS_ADMIN", mtumigration.PodNamespaces} {
			if has := bytes.Contains(raw, []byte(right)); has != migrating {
				t.Errorf("migrating %t: %s is given: %t", migrating, right, has)
			}
		}
	}
}

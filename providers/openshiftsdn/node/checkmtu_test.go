package node

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

func TestConfigurationOlderThanThePodIsRefused(t *testing.T) {
	c := agentconfig.Default()
	c.MTU = 1450
	for _, tc := range []struct {
		why       string
		migration *agentfile.MTUMigration
		expected  string
		fits      bool
	}{
		{"no pod", nil, "", true},
		{"no migration", nil, `{"mtu":1450}`, true},
		{"the step", &agentfile.MTUMigration{Step: 1, RoutableMTU: 1400}, `{"mtu":1450,"step":1,"routableMTU":1400}`, true},
		{"the step before", nil, `{"mtu":1450,"step":1,"routableMTU":1400}`, false},
		{"the step after", &agentfile.MTUMigration{Step: 2}, `{"mtu":1450,"step":1,"routableMTU":1400}`, false},
	} {
		c.Migration = tc.migration
		if err := CheckMTU(c, tc.expected); (err == nil) != tc.fits || err != nil && !strings.Contains(err.Error(), "the kubelet has yet to mount the new ConfigMap") {
			t.Errorf("%s: %v", tc.why, err)
		}
	}
}

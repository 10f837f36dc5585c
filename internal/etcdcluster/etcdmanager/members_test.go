package etcdmanager

import (
	"context"
	"testing"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

func TestDownMembersAreNotReportedAsFirewalled(t *testing.T) {
	m := etcdcluster.Membership{Members: []etcdcluster.Member{
		{Node: "up", ClientURL: "https://192.0.2.1:12379", State: etcdcluster.Existing},
		{Node: "down", ClientURL: "https://[2001:db8::2]:12379", State: etcdcluster.Existing},
		{Node: "planned", ClientURL: "https://192.0.2.3:12379", State: etcdcluster.Promised},
	}}
	down := addresses(m, map[string]error{"down": context.DeadlineExceeded})
	for address, want := range map[string]bool{"192.0.2.1:12379": false, "[2001:db8::2]:12379": true, "192.0.2.3:12379": true} {
		if down[address] != want {
			t.Errorf("%s counts as down: %v, want %v", address, down[address], want)
		}
	}
}

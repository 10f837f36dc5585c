package node

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// TestLocals: other clients write to the database, too, and flows are computed for pods only.
func TestLocals(t *testing.T) {
	want := local{
		ID: netpolicy.ID{Namespace: "a", Name: "p"}, UID: "u", Address: netip.MustParseAddr("10.128.2.9"), Port: 11, Limits: bandwidth.Limits{Ingress: 1000},
	}
	for _, row := range []struct {
		why, address, sandbox string
		port                  int
		pod                   bool
	}{
		{"a pod", "10.128.2.9", "s", 11, true},
		{"no address", "", "s", 11, false},
		{"no address at all", "nonsense", "s", 11, false},
		{"an IPv6 address", "fd01::9", "s", 11, false},
		{"an IPv4 address in the form of IPv6", "::ffff:10.128.2.9", "s", 11, false},
		{"no sandbox: tun0 and vxlan0", "10.128.2.9", "", 11, false},
		{"no port yet", "10.128.2.9", "s", 0, false},
		{"a port that Open vSwitch refuses", "10.128.2.9", "s", -1, false},
	} {
		ids := map[string]string{idNamespace: "a", idName: "p", idUID: "u", idIngress: "1000"}
		maps.Copy(ids, map[string]string{idAddress: row.address, idSandbox: row.sandbox})
		got := localsOf(map[string]ovs.Interface{"sdnp1": {ExternalIDs: ids, Port: row.port}})
		var expected []local
		if row.pod {
			expected = []local{want}
		}
		if diff := cmp.Diff(expected, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

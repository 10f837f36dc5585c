package node_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

// writesNothing counts the changes of rows in all databases of a control-plane node for some seconds, more than Open vSwitch's default interval of statistics,
// while pods send packets.
func (w *watched) writesNothing(t *testing.T) {
	const during = 12 * time.Second
	one := w.nodes[0]
	flow := nodetest.Send(t, w.a.Namespace, w.far.Namespace, netip.AddrPortFrom(w.far.addr(), 7000), "idle")
	monitors := map[string]*nodetest.Process{}
	for name, socket := range map[string]string{"OVN_Northbound": "ovn/ovnnb_db.sock", "OVN_Southbound": "ovn/ovnsb_db.sock", "Open_vSwitch": "ovs/db.sock"} {
		monitors[name] = nodetest.Start(t, one.at, "changes of "+name, nil, "ovsdb-client", "--format=csv", "--no-headings", "monitor", "unix:"+filepath.Join(one.run, socket), name, "ALL")
	}
	time.Sleep(during)
	flow.Lost(t)
	for name, m := range monitors {
		var changed []string
		initial := 0
		for line := range strings.Lines(m.Log()) {
			_, rest, _ := strings.Cut(line, ",")
			switch action, _, _ := strings.Cut(rest, ","); action {
			case "initial":
				initial++
			case "old", "new", "insert", "delete":
				changed = append(changed, line)
			}
		}
		t.Logf("%s: %d changes in %s", name, len(changed), during)
		if initial == 0 || len(changed) > 0 {
			t.Errorf("%s: of %d rows these change while nothing happens: %v", name, initial, changed)
		}
	}
}

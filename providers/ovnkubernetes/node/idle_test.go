package node_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

// writesNothing waits until no row changes in any database of a control-plane node for some seconds, more than Open vSwitch's default interval of statistics,
// while pods send packets. Before, rows change because of the pods' first packets, such as those with which their kernels join multicast groups.
func (w *watched) writesNothing(t *testing.T) {
	const during = 12 * time.Second
	one := w.nodes[0]
	flow := nodetest.Send(t, w.a.Namespace, w.far.Namespace, netip.AddrPortFrom(w.far.addr(), 7000), "idle")
	monitors := map[string]*nodetest.Process{}
	for name, socket := range map[string]string{"OVN_Northbound": "ovn/ovnnb_db.sock", "OVN_Southbound": "ovn/ovnsb_db.sock", "Open_vSwitch": "ovs/db.sock"} {
		monitors[name] = nodetest.Start(t, one.at, "changes of "+name, nil, "ovsdb-client", "--format=csv", "--no-headings", "monitor", "unix:"+filepath.Join(one.run, socket), name, "ALL")
	}
	seen, since := 0, time.Now()
	eventually.Holds(t, fmt.Sprintf("nothing is written for %s", during), func() (string, bool) {
		var changed []string
		for name, m := range monitors {
			rows, changes := rowsOf(m.Log())
			if rows == 0 {
				since = time.Now()
				return name + " is not monitored yet", false
			}
			changed = append(changed, changes...)
		}
		if len(changed) != seen {
			seen, since = len(changed), time.Now()
		}
		return strings.Join(changed, ""), time.Since(since) > during
	})
	flow.Lost(t)
	t.Logf("%d changes, and then none in %s", seen, during)
}

// rowsOf returns the number of rows that a monitor has printed first, and the lines of changes since.
func rowsOf(log string) (rows int, changes []string) {
	for line := range strings.Lines(log) {
		_, rest, _ := strings.Cut(line, ",")
		switch action, _, _ := strings.Cut(rest, ","); action {
		case "initial":
			rows++
		case "old", "new", "insert", "delete":
			changes = append(changes, line)
		}
	}
	return rows, changes
}

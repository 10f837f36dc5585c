package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestRepeatedThirdPartyChangesAreReported: the agent continues to restore, reports the node's fights while they last, and no others.
func TestRepeatedThirdPartyChangesAreReported(t *testing.T) {
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	m := c.node()
	m.ready()
	a, b := m.pod("one", "a", nil), m.pod("one", "b", nil)
	readyz := func() string {
		out, _ := m.at.Try("curl", "-s", "http://"+m.config.NodeHealthAddress+"/readyz")
		return out
	}
	if out := readyz(); strings.Contains(out, "third party") {
		t.Errorf("before anything happens: %s", out)
	}
	bridge := "unix:" + m.config.SwitchRunDir + "/br0.mgmt"
	undo := [][]string{
		{"ip", "route", "del", serviceNetwork}, {"ip", "address", "del", m.tunnelAddress(t), "dev", agentconfig.Tunnel}, {"nft", "flush", "chain", "ip", "openshift-sdn", "forward"},
		{"ovs-ofctl", "-O", "OpenFlow15", "del-flows", bridge, "table=253"},
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, command := range undo {
				_, _ = m.at.Try(command...) // it may be deleted
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	things := []string{"the addresses of tun0", "the flows of bridge br0", "the routes of tun0", "table ip openshift-sdn"}
	// A fight is five repairs within a minute, whenever that minute begins.
	eventually.HoldsWithin(t, 3*eventually.Limit, "each is a problem of the node", func() (string, bool) {
		out := readyz()
		for _, thing := range things {
			if !strings.Contains(out, thing+" (") {
				return out, false
			}
		}
		return out, true
	})
	for _, unconcerned := range []string{"bridge br0 (5", "port ", "interface "} {
		if out := readyz(); strings.Contains(strings.ReplaceAll(out, "the flows of bridge br0", ""), unconcerned) {
			t.Errorf("%q is reported as contested: %s", unconcerned, out)
		}
	}
	eventually.Holds(t, "each is an event of the node", func() (string, bool) {
		var all eventsv1.EventList
		if err := c.client.List(t.Context(), &all, client.InNamespace("default")); err != nil {
			return err.Error(), false
		}
		notes := ""
		for _, e := range all.Items {
			if e.Reason == fight.Reason && e.Regarding.Kind == "Node" && e.Regarding.Name == m.name && e.Series != nil && e.Series.Count >= fight.After {
				notes += fmt.Sprintln(e.Note)
			}
		}
		for _, thing := range things {
			if !strings.Contains(notes, thing+": ") {
				return notes, false
			}
		}
		return notes, true
	})
	stop()
	<-done
	eventually.Holds(t, "the fights are over", func() (string, bool) {
		out := readyz()
		return out, !strings.Contains(out, "third party")
	})
	nodetest.Reaches(t, a.Namespace, b.address, podMTU)
}

// tunnelAddress is the address that pods know the node by.
func (m *machine) tunnelAddress(t *testing.T) string {
	t.Helper()
	for _, field := range strings.Fields(m.at.Run("ip", "-4", "-o", "address", "show", "dev", agentconfig.Tunnel)) {
		if strings.HasSuffix(field, "/23") {
			return field
		}
	}
	t.Fatal("tun0 has no address")
	return ""
}

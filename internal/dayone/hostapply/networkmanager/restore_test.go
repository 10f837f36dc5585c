package networkmanager

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

func TestRestoringWaitsForNoDeviceThatStays(t *testing.T) {
	doc := &nmstate.Document{Interfaces: []nmstate.Interface{{Name: "lo"}, {Name: "br0"}, {Name: "placeholder"}}}
	got := changedDevices([]nmdbus.Device{{Interface: "lo", Real: true}, {Interface: "br0", Real: true}, {Interface: "eth0", Real: true}, {Interface: "placeholder"}}, doc)
	if len(got) != 1 || got[0].Interface != "br0" {
		t.Errorf("%+v", got)
	}
}

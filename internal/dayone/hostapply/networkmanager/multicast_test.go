package networkmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func TestCardsThatKeepMulticastFromTheirBridgeAreFound(t *testing.T) {
	doc, problems := nmstate.Parse("", []byte(`interfaces:
- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: ens1}, {name: ens2}, {name: br-ex}]}}
- {name: br-old, type: ovs-bridge, state: absent, bridge: {port: [{name: ens4}]}}
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	live := livestate.State{Links: []livestate.Link{
		{Name: "ens1", Driver: vmxnet3},
		{Name: "ens2", Driver: "virtio_net"}, // forwards it without the option
		{Name: "ens3", Driver: vmxnet3},      // in no bridge
		{Name: "ens4", Driver: vmxnet3},      // its bridge goes
	}}
	if diff := cmp.Diff([]string{"ens1"}, multicastUplinks(doc, live)); diff != "" {
		t.Error(diff)
	}
}

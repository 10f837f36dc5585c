package hostdocument

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/policy"
)

// leased is a host whose only card has everything from a DHCP server.
func leased() livestate.State {
	return livestate.State{
		Links: []livestate.Link{
			{Name: "lo", Kind: "loopback", MTU: 65536},
			{Name: "enp2s0", Kind: "ethernet", MAC: "00:d7:a3:95:42:1f", MTU: 9000, Up: true, IPv4: livestate.Method{DHCP: true},
				Addresses: []livestate.Address{{Prefix: netip.MustParsePrefix("192.0.2.7/24"), Dynamic: true}}},
		},
		Routes: []livestate.Route{{
			Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Interface: "enp2s0",
			Metric: 100, Table: 254, Protocol: "dhcp",
		}},
		DNS: livestate.DNS{Servers: []string{"192.0.2.1"}},
	}
}

func TestRunningHasWhatCameByItself(t *testing.T) {
	doc := Running(leased())
	if len(doc.Interfaces) != 1 || doc.Interfaces[0].MACAddress != "00:D7:A3:95:42:1F" || *doc.Interfaces[0].MTU != 9000 {
		t.Errorf("the interfaces are %+v", doc.Interfaces)
	}
	if len(doc.Routes.Running) != 1 || len(doc.Routes.Config) != 0 || doc.Routes.Running[0].NextHopAddress != "192.0.2.1" {
		t.Errorf("the routes are %+v", doc.Routes)
	}
	if diff := cmp.Diff([]string{"192.0.2.1"}, doc.DNS.Running.Server); diff != "" {
		t.Error(diff)
	}
}

// TestCaptureOfTheDefaultRoute is the capture that every example of a bridge begins with.
func TestCaptureOfTheDefaultRoute(t *testing.T) {
	p, problems := policy.Parse("worker-0.yml", []byte(`
capture:
  default: routes.running.destination == "0.0.0.0/0"
  uplink: interfaces.name == capture.default.routes.running.0.next-hop-interface
desiredState:
  interfaces:
  - name: br1
    type: linux-bridge
    mac-address: "{{ capture.uplink.interfaces.0.mac-address }}"
    ipv4: "{{ capture.uplink.interfaces.0.ipv4 }}"
    bridge:
      port:
      - name: "{{ capture.uplink.interfaces.0.name }}"
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	state, err := policy.StateOf(Running(leased()))
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := p.Resolve(state)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	bridge := doc.Interfaces[0]
	if bridge.MACAddress != "00:D7:A3:95:42:1F" || !bridge.IPv4.Automatic() || bridge.LinuxBridge.Port[0].Name != "enp2s0" {
		t.Errorf("the bridge is %+v", bridge)
	}
}

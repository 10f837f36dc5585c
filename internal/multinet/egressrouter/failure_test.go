package egressrouter

import (
	"net/netip"
	"testing"
)

func TestFailuresAreFoundInTheEventsOfAPod(t *testing.T) {
	const before = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "a1": plugin type="multus-shim" name="cbr0" failed (add): shop/egress-router-billing-ipv4: `
	for _, f := range []Failure{
		Taken(netip.MustParseAddr("192.168.12.99"), "the machine with MAC address 02:00:00:00:00:01"), NoMaster("the node has no interface %s", "eth7"),
		NoGateway(netip.MustParseAddr("fe80::1"), "eth1"),
	} {
		got, ok := FailureIn(before + f.String() + "\nanother line")
		if want := (Failure{Reason: f.Reason, Message: f.Message}); !ok || got != want {
			t.Errorf("got %+v; want %+v", got, want)
		}
	}
	for _, text := range []string{"", before + "the address manager has no address", "NotNoMaster: x"} {
		if got, ok := FailureIn(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

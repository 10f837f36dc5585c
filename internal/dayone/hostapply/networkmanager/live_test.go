package networkmanager

import (
	"net/netip"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

func settings(sections map[string]map[string]any) nmdbus.Settings {
	out := nmdbus.Settings{}
	for name, keys := range sections {
		out[name] = map[string]dbus.Variant{}
		for key, value := range keys {
			out[name][key] = dbus.MakeVariant(value)
		}
	}
	return out
}

func TestMethods(t *testing.T) {
	for _, tt := range []struct {
		why    string
		ip     map[string]map[string]any
		v4, v6 livestate.Method
	}{
		{why: "addresses as written", ip: map[string]map[string]any{"ipv4": {"method": "manual"}, "ipv6": {"method": "disabled"}}},
		{
			why: "NMState's words for what NetworkManager calls otherwise",
			ip: map[string]map[string]any{
				"ipv4": {"method": "auto", "dhcp-client-id": "mac", "ignore-auto-dns": true},
				"ipv6": {"method": "auto", "dhcp-duid": "ll", "addr-gen-mode": int32(0)},
			},
			v4: livestate.Method{DHCP: true, ClientID: "ll", IgnoreDNS: true},
			v6: livestate.Method{DHCP: true, Autoconf: true, DUID: "ll", AddrGenMode: "eui64"},
		},
		{
			why: "DHCPv6 without router advertisements",
			ip:  map[string]map[string]any{"ipv4": {"dhcp-client-id": "duid"}, "ipv6": {"method": "dhcp", "addr-gen-mode": int32(1)}},
			v4:  livestate.Method{ClientID: "iaid+duid"},
			v6:  livestate.Method{DHCP: true, AddrGenMode: "stable-privacy"},
		},
	} {
		v4, v6 := methods(settings(tt.ip))
		if diff := cmp.Diff([]livestate.Method{tt.v4, tt.v6}, []livestate.Method{v4, v6}); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
	}
}

func TestSnapshotKnowsWhatHadNoProfile(t *testing.T) {
	v := view{
		devices: []nmdbus.Device{
			{Path: "/1", Interface: "lo", Real: true, Active: "/a1"},
			{Path: "/2", Interface: "enp1s0", Real: true, Active: "/a2"},
			{Path: "/3", Interface: "enp2s0", Real: true, Active: "/a3"},
			{Path: "/4", Interface: "enp3s0", Real: true, Active: nmdbus.None},
			{Path: "/5", Interface: "bond0", Active: nmdbus.None}, // only a profile's promise
		},
		active: []nmdbus.Active{
			{Path: "/a1", UUID: "1", External: true, Devices: []nmdbus.Path{"/1"}},
			{Path: "/a3", UUID: "3", External: true, Devices: []nmdbus.Path{"/3"}},
			{Path: "/a2", UUID: "2", Devices: []nmdbus.Path{"/2"}},
		},
	}
	devices := v.devicesThen()
	want := []deviceThen{{Interface: "lo"}, {Interface: "enp2s0"}, {Interface: "enp1s0", UUID: "2"}, {Interface: "enp3s0"}}
	if diff := cmp.Diff(want, devices); diff != "" {
		t.Error(diff)
	}
	address := netip.MustParsePrefix("192.0.2.7/24")
	state := livestate.State{
		Links: []livestate.Link{
			{Name: "lo", Kind: "loopback", Addresses: []livestate.Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8")}}},
			{Name: "enp1s0", Addresses: []livestate.Address{{Prefix: address}}},
			{Name: "enp2s0", Addresses: []livestate.Address{{Prefix: address}, {Prefix: netip.MustParsePrefix("fe80::1/64")}}},
			{Name: "enp3s0"},
		},
		Routes: []livestate.Route{
			{Destination: netip.MustParsePrefix("192.0.2.0/24"), Interface: "enp2s0", Protocol: "kernel"},
			{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Interface: "enp2s0", Protocol: "boot"},
		},
	}
	got := externals(devices, state)
	if len(got) != 1 || got[0].Interface != "enp2s0" || len(got[0].Addresses) != 1 || len(got[0].Routes) != 1 {
		t.Errorf("what the kernel does not create automatically on devices without a profile is %+v", got)
	}
	if !hasExternal(state, "enp2s0", got) {
		t.Error("what is there counts as missing")
	}
	if hasExternal(state, "enp3s0", got) || hasExternal(livestate.State{}, "enp2s0", got) {
		t.Error("what is missing counts as there")
	}
}

func TestDevicesAndProfilesAreFound(t *testing.T) {
	v := view{
		devices:  []nmdbus.Device{{Path: "/1", Interface: "br-ex"}, {Path: "/2", Interface: "br-ex", Real: true, Active: "/a"}},
		profiles: []nmdbus.Profile{{UUID: "1", Path: "/p"}},
		active:   []nmdbus.Active{{Path: "/a", UUID: "1", State: nmdbus.Activated}, {Path: "/b", UUID: "2", State: nmdbus.Deactivating}},
	}
	if d, ok := v.real("br-ex"); !ok || d.Path != "/2" {
		t.Errorf("the device is %+v", d)
	}
	if _, ok := v.profile("2"); ok {
		t.Error("a missing profile is found")
	}
	if _, ok := v.activeOf("2"); ok {
		t.Error("what is on its way down counts as active")
	}
	if !v.activated(v.devices[1]) || v.activated(v.devices[0]) {
		t.Error("the wrong device counts as activated")
	}
}

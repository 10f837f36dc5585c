package networkmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
)

const bridgeProfile = `[connection]
autoconnect=true
id=br-ex-br
interface-name=br-ex
type=ovs-bridge
uuid=b
`

const portProfile = `[connection]
autoconnect=true
id=br-ex-port
interface-name=br-ex
master=br-ex
slave-type=ovs-bridge
type=ovs-port
uuid=p

[ovs-port]
`

const internalProfile = `[connection]
autoconnect=true
id=br-ex-if
interface-name=br-ex
master=br-ex
slave-type=ovs-port
type=ovs-interface
uuid=i

[ipv4]
method=auto

[ovs-interface]
type=internal

[ethernet]
cloned-mac-address=00:D7:A3:95:42:1F
`

const cardProfile = `[connection]
autoconnect=true
id=enp2s0
interface-name=enp2s0
master=enp2s0
slave-type=ovs-port
type=802-3-ethernet
uuid=c

[ethernet]
mtu=1400

[ovs-external-ids]
data.a=b
`

const vlanProfile = `[connection]
autoconnect=false
id=br-ex.7
interface-name=br-ex.7
type=vlan
uuid=v

[vlan]
id=7
parent=br-ex
`

func generated() []nmconn.File {
	return []nmconn.File{
		{Name: "br-ex.7.nmconnection", Content: vlanProfile},
		{Name: "br-ex-br.nmconnection", Content: bridgeProfile},
		{Name: "br-ex-port.nmconnection", Content: portProfile},
		{Name: "br-ex-if.nmconnection", Content: internalProfile},
		{Name: "enp2s0.nmconnection", Content: cardProfile},
	}
}

func names(profiles []profile) []string {
	var out []string
	for _, p := range profiles {
		out = append(out, p.file)
	}
	return out
}

func TestInternalPortsComeAfterAllOtherPortsAndBeforeWhatStandsOnThem(t *testing.T) {
	got := names(inOrder(profilesOf(generated(), false)))
	want := []string{"br-ex-br.nmconnection", "br-ex-port.nmconnection", "enp2s0.nmconnection", "br-ex-if.nmconnection", "br-ex.7.nmconnection"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProfilesWithoutThePlugin(t *testing.T) {
	out := withoutPlugin(profilesOf(generated(), false))
	texts := map[string]string{}
	for _, p := range out {
		texts[p.file] = p.content
	}
	want := map[string]string{
		"br-ex.7.nmconnection": vlanProfile,
		// The device is Open vSwitch's, with the address that it gave it.
		"br-ex-if.nmconnection": `[connection]
autoconnect=false
id=br-ex-if
interface-name=br-ex
type=tun
uuid=i

[ipv4]
method=auto

[tun]
mode=2
`,
		"enp2s0.nmconnection": `[connection]
autoconnect=true
id=enp2s0
interface-name=enp2s0
type=802-3-ethernet
uuid=c

[ethernet]
mtu=1400

[ipv4]
method=disabled

[ipv6]
method=disabled
`,
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
	for _, p := range out {
		if wantActive := p.file != "br-ex.7.nmconnection"; p.active != wantActive {
			t.Errorf("%s is activated: %t", p.file, p.active)
		}
		if p.internal {
			if k := parseKeyfile(forGeneric(p).content); k.get("connection", "type") != "generic" || k.get("tun", "mode") != "" {
				t.Errorf("for a device of the kernel's datapath it is\n%s", k)
			}
		}
	}
}

func TestVolatileProfilesWinAgainstThoseOnDisk(t *testing.T) {
	for _, p := range profilesOf(generated(), true) {
		if got := parseKeyfile(p.content).get("connection", "autoconnect-priority"); got != "100" {
			t.Errorf("%s has the priority %q", p.file, got)
		}
	}
}

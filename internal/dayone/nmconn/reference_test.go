package nmconn

import (
	"strings"
	"testing"
)

const uplinks = "- {name: up, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}\n" +
	"- {name: slot, type: ethernet, identifier: pci-address, pci-address: '07:00.1'}\n"

func TestAnInterfaceOnOneFoundByItsAddressRefersToItsProfile(t *testing.T) {
	up, slot := uuid("ethernet", "up"), uuid("ethernet", "slot")
	checkWritten(t, []written{
		{"VLAN", uplinks + "- {name: x, type: vlan, vlan: {base-iface: up, id: 5}}", "x", "vlan", "flags=1 id=5 parent=" + up},
		{"VLAN on a PCI address", uplinks + "- {name: x, type: vlan, vlan: {base-iface: slot, id: 5}}", "x", "vlan", "flags=1 id=5 parent=" + slot},
		{"VXLAN", uplinks + "- {name: x, type: vxlan, vxlan: {base-iface: up, id: 5}}", "x", "vxlan", "id=5 parent=" + up},
		{"MACVLAN", uplinks + "- {name: x, type: mac-vlan, mac-vlan: {base-iface: up, mode: vepa}}", "x", "macvlan", "mode=1 parent=" + up + " tap=false"},
		{"MACVTAP", uplinks + "- {name: x, type: mac-vtap, mac-vtap: {base-iface: up, mode: vepa}}", "x", "macvlan", "mode=1 parent=" + up + " tap=true"},
		{"IPVLAN", uplinks + "- {name: x, type: ipvlan, ipvlan: {base-iface: up}}", "x", "ipvlan", "mode=2 parent=" + up},
		{"MACsec", uplinks + "- {name: x, type: macsec, macsec: {base-iface: up, encrypt: true, port: 1, validation: strict, send-sci: true, mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a, mka-ckn: f2b4}}", "x", "macsec",
			"encrypt=true mka-cak=50b71a8ef0bd5751ea76de6d6c98c03a mka-ckn=f2b4 parent=" + up + " port=1 send-sci=true validation=2"},
		{"the card itself", uplinks, "slot", "match", "path=pci-0000:07:00.1;"},
	})
	for _, id := range []string{up, slot} {
		files, _ := generate(t, "d.yml", []byte("interfaces:\n"+uplinks))
		if !strings.Contains(files[0].Content+files[1].Content, "uuid="+id+"\n") {
			t.Errorf("no profile has the UUID %s", id)
		}
		if strings.Contains(files[0].Content+files[1].Content, "interface-name") {
			t.Error("a profile names a device that the host need not have")
		}
	}
}

func TestWhatNeedsTheKernelsNameIsRefusedBeforeTheBoot(t *testing.T) {
	for _, c := range []struct{ doc, says string }{
		{"- {name: b, type: bond, link-aggregation: {mode: active-backup, port: [up], options: {primary: up}}}", `interfaces[2].link-aggregation.options.primary: is "up", which the host finds by its mac-address`},
		{"- {name: h, type: hsr, hsr: {port1: up, port2: slot, multicast-spec: 1, protocol: prp}}", `hsr.port2: is "slot", which the host finds by its pci-address`},
		{"- {name: v, type: veth, veth: {peer: up}}", `veth.peer: is "up"`},
		{"- {name: i, type: infiniband, infiniband: {mode: datagram, base-iface: up, pkey: 5}}", `infiniband.base-iface: is "up"`},
		{"- {name: d, type: dummy}\nroute-rules: {config: [{family: ipv4, iif: up, route-table: 5}]}", `route-rules.config[0].iif: is "up"`},
		{"- {name: d, type: bond, identifier: mac-address, mac-address: '52:54:00:00:00:02', link-aggregation: {mode: 1}}", `interfaces[2].identifier: is mac-address, which finds a network card`},
		{"- {name: d, type: ethernet, identifier: pci-address}", `pci-address: is missing`},
		{"- {name: d, type: ethernet, identifier: pci-address, pci-address: eth0}", `is "eth0", which is not a PCI address`},
	} {
		_, problems := generate(t, "d.yml", []byte("interfaces:\n"+uplinks+c.doc))
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.doc, err, c.says)
		}
	}
}

func TestTheHostItselfMayFollowAnyReference(t *testing.T) {
	doc := mustParse(t, "interfaces:\n"+uplinks+"- {name: b, type: bond, link-aggregation: {mode: active-backup, port: [up, slot], options: {primary: up}}}")
	if problems := Check(doc).Errors(); len(problems) > 0 {
		t.Error(problems)
	}
	if problems := Check(mustParse(t, "interfaces: [{name: all, type: dummy}]")); !problems.HasErrors() {
		t.Error("what NetworkManager drops passes")
	}
}

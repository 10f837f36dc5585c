package netlinkovs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const staticCard = `interfaces:
- name: enp2s0
  type: ethernet
  state: up
  mtu: 1400
  ipv4:
    address:
    - ip: "192.168.111.110"
      prefix-length: 24
    enabled: true
  ipv6:
    address:
    - ip: 2001:db8:111::110
      prefix-length: 64
    enabled: true
dns-resolver:
  config:
    search: [example.com]
    server: [192.168.111.1]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.168.111.1, next-hop-interface: enp2s0}
  - {destination: "::/0", next-hop-address: "2001:db8:111::1", next-hop-interface: enp2s0}
  - {destination: 198.51.100.0/24, next-hop-address: 192.168.111.9, next-hop-interface: enp2s0, metric: 150, table-id: 100}
  - {destination: 203.0.113.0/24, route-type: blackhole}
route-rules:
  config:
  - {ip-from: 192.168.111.110/32, route-table: 100}
  - {ip-to: 203.0.113.128/25, action: prohibit}
  - {ip-from: "2001:db8:111::/64", route-table: 100, fwmark: 4, fwmask: 6, suppress-prefix-length: 0}
`

// bridgeOverCard is the document that a node with this card gets, as it is written in the guide to this feature.
const bridgeOverCard = `interfaces:
- name: enp2s0
  type: ethernet
  state: up
  ipv4:
    enabled: false
  ipv6:
    enabled: false
- name: br-ex
  type: ovs-bridge
  state: up
  copy-mac-from: enp2s0
  ipv4:
    enabled: false
    dhcp: false
  ipv6:
    enabled: false
    dhcp: false
  bridge:
    port:
    - name: enp2s0
    - name: br-ex
- name: br-ex
  type: ovs-interface
  state: up
  ipv4:
    enabled: true
    address:
    - ip: "192.168.111.110"
      prefix-length: 24
  ipv6:
    enabled: false
    dhcp: false
dns-resolver:
  config:
    server:
    - 192.168.111.1
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 192.168.111.1
    next-hop-interface: br-ex
`

func TestStaticDocumentIsLiveAndASecondPassDoesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.document("master-0.yml", staticCard)
	l.want(l.pass(nil), "applied")
	l.reachable()
	for what, command := range map[string]string{
		"mtu 1400":                                          "ip link show enp2s0",
		"2001:db8:111::110/64":                              "ip address show enp2s0",
		"default via 2001:db8:111::1":                       "ip -6 route",
		"via 192.168.111.9 dev enp2s0":                      "ip route show table 100",
		"blackhole 203.0.113.0/24":                          "ip route",
		"from 192.168.111.110 lookup 100":                   "ip rule",
		"from all to 203.0.113.128/25 prohibit":             "ip rule",
		"fwmark 0x4/0x6 lookup 100 suppress_prefixlength 0": "ip -6 rule",
		"nameserver 192.168.111.1":                          "cat " + l.dns,
		"search example.com":                                "cat " + l.dns,
	} {
		if out := l.on(l.host, "sh", "-c", command); !strings.Contains(out, what) {
			t.Errorf("%q is not in the output of %s:\n%s", what, command, out)
		}
	}
	if marker, err := os.ReadFile(filepath.Join(l.disk, "applied")); err != nil || string(marker) != staticCard {
		t.Errorf("the marker is no copy of the document: %v", err)
	}
	again := l.pass(nil)
	l.want(again, "unchanged")
	if strings.Contains(again.Log, "do=") {
		t.Errorf("a second pass takes steps:\n%s", again.Log)
	}
	l.on(l.host, "ip", "address", "del", "192.168.111.110/24", "dev", "enp2s0")
	l.want(l.pass(nil), "applied") // the same content, but no longer live
	l.reachable()
}

func TestLinuxBridgeTakesTheAddress(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.static()
	l.document("cluster.yml", `interfaces:
- name: br0
  type: linux-bridge
  state: up
  copy-mac-from: enp2s0
  bridge:
    options: {stp: {enabled: false}}
    port: [{name: enp2s0}]
  ipv4: {enabled: true, address: [{ip: 192.168.111.110, prefix-length: 24}]}
  ipv6: {enabled: false}
- name: pair0
  type: veth
  state: up
  veth: {peer: pair1}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.168.111.1, next-hop-interface: br0}
`)
	l.want(l.pass(nil), "applied")
	l.reachable()
	if out := l.on(l.host, "ip", "-br", "link", "show", "br0"); !strings.Contains(out, cardMAC) {
		t.Errorf("br0 has not the card's address: %s", out)
	}
	l.on(l.host, "ip", "link", "show", "pair1")
}

func TestAddressMovesFromTheCardToTheBridge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.static()
	l.document("master-0.yml", bridgeOverCard)
	l.want(l.pass(nil), "applied")
	l.reachable()
	if out := l.on(l.host, "ip", "-br", "address"); !strings.Contains(out, "br-ex") || strings.Count(out, "192.168.111.110/24") != 1 {
		t.Errorf("addresses are\n%s", out)
	}
	if out := l.on(l.host, "ip", "-br", "link", "show", "br-ex"); !strings.Contains(out, cardMAC) {
		t.Errorf("br-ex has not the card's hardware address: %s", out)
	}
	l.want(l.pass(nil), "unchanged")
	l.powerCut()
	l.want(l.pass(nil), "applied")
	l.reachable()
}

func TestAlternativeNamesAreSetAtEveryBoot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.static()
	l.document("master-0.yml", namedBridge)
	l.want(l.pass(nil), "applied")
	l.wantNew()
	l.want(l.pass(nil), "unchanged")
	l.on(l.host, "ip", "link", "property", "del", "dev", "enp2s0", "altname", "the-uplink-of-this-host")
	l.want(l.pass(nil), "applied") // the same content, but no longer live
	l.wantNew()
	l.powerCut()
	l.want(l.pass(nil), "applied")
	l.wantNew()

	l.document("master-0.yml", strings.NewReplacer("enp2s0", "the-uplink-of-this-host", "  alt-names: [{name: the-uplink-of-this-host}, {name: old, state: absent}]\n", "").Replace(namedBridge))
	l.want(l.pass(nil), "applied") // now the host knows the name
	l.wantNew()
	l.document("master-0.yml", strings.ReplaceAll(namedBridge, "the-uplink-of-this-host", "lo"))
	o := l.pass(nil)
	l.want(o, "refused")
	if !strings.Contains(o.Message, "this host has an interface lo; choose another name for enp2s0") {
		t.Errorf("the message is %q", o.Message)
	}
	l.wantNew()
}

func (l *lab) wantNew() {
	l.t.Helper()
	l.eventually("the document is live", l.isNew)
}

func TestLeaseStaysTheSameOnTheBridge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.leases()
	l.document("cluster.yml", "interfaces:\n- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}\n")
	l.want(l.pass(nil), "applied")
	l.reachable()
	before := l.address("enp2s0")
	withoutDNS, _, _ := strings.Cut(bridgeOverCard, "dns-resolver")
	l.document("cluster.yml", strings.NewReplacer(
		`    enabled: true
    address:
    - ip: "192.168.111.110"
      prefix-length: 24
`, "    enabled: true\n    dhcp: true\n    auto-route-metric: 48\n",
	).Replace(withoutDNS))
	l.want(l.pass(nil), "applied")
	l.reachable()
	if after := l.address("br-ex"); after != before {
		t.Errorf("the address was %s on the card, and is %s on the bridge", before, after)
	}
	if out := l.on(l.host, "ip", "route"); !strings.Contains(out, "default via 192.168.111.1 dev br-ex proto dhcp") || !strings.Contains(out, "metric 48") {
		t.Errorf("routes are\n%s", out)
	}
	if data, _ := os.ReadFile(l.dns); !strings.Contains(string(data), "lab.example.com") || !strings.Contains(string(data), routerIP) {
		t.Errorf("resolv.conf is\n%s", data)
	}
}

func (l *lab) address(link string) string {
	l.t.Helper()
	fields := strings.Fields(l.on(l.host, "ip", "-br", "-4", "address", "show", link))
	if len(fields) < 3 {
		l.t.Fatalf("%s has no address", link)
	}
	return fields[2]
}

func TestAutomaticBridge(t *testing.T) {
	t.Parallel()
	automatic := func(c *child) { c.Automatic = true }
	for _, tt := range []struct {
		name string // how the card got its address
		give func(l *lab)
	}{
		{"by hand", (*lab).static},
		{"by DHCP", func(l *lab) {
			l.document("cluster.yml", "interfaces:\n- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}\n")
			l.want(l.pass(nil), "applied")
			if err := os.Remove(filepath.Join(l.disk, "documents", "cluster.yml")); err != nil {
				l.t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.leases()
			for boot := range 2 {
				tt.give(l)
				before := l.address("enp2s0")
				l.want(l.pass(automatic), "applied")
				l.reachable()
				if after := l.address("br-ex"); after != before {
					t.Errorf("boot %d: the address was %s, and is %s", boot, before, after)
				}
				if out := l.on(l.host, "ip", "route"); !strings.Contains(out, "metric 48") {
					t.Errorf("boot %d: routes are\n%s", boot, out)
				}
				l.want(l.pass(automatic), "unchanged")
				if boot == 0 {
					l.powerCut()
					l.leases()
				}
			}
		})
	}
}

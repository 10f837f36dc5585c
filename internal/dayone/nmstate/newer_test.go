package nmstate

import (
	"strings"
	"testing"
)

func TestKeysOfNewerVersionsSayWhyTheyAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"interfaces: [{name: a, type: ethernet, ipv4: {forwarding: true}}]":                                             "ipv4.forwarding: is known to NMState from a version after 2.2.38 on",
		"interfaces: [{name: a, type: ethernet, ethtool: {fec: {auto: true}}}]":                                         "ethtool.fec: is known to NMState",
		"routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: a, vrf-name: r}]}":                              "write the routing table of the VRF as table-id",
		"interfaces: [{name: a, type: ethernet, ipv4: &x {enabled: true}, ipv6: {<<: *x}}]":                             "has a merge key (<<), which NMState does not read",
		"interfaces: [{name: a, type: ipsec, libreswan: {left: b}}]":                                                    "needs keys from Libreswan",
		"interfaces: [{name: a, type: ip-tunnel, ip-tunnel: {mode: ipip}}]":                                             `is "ip-tunnel", which NMState knows from version 2.2.60 on`,
		"interfaces: [{name: a, type: hsr, hsr: {port1: b, port2: c, multicast-spec: 1, protocol: hsr-2012}}]":          `is "hsr-2012", which NMState knows from version 2.2.57 on`,
		"interfaces: [{name: a, type: hsr, hsr: {port1: b, port2: c, multicast-spec: 1, protocol: hsr2012}}]":           "use hsr (the version of 2010) on all devices of the ring",
		"interfaces: [{name: a, type: hsr, hsr: {port1: b, port2: c, multicast-spec: 1, protocol: hsr, interlink: d}}]": "hsr.interlink: is known to NMState from a version after 2.2.38 on",
	} {
		_, problems := Parse("d.yml", []byte(text))
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "known are") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

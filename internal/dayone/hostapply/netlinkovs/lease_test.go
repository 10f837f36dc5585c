package netlinkovs

import (
	"strings"
	"testing"
	"time"
)

func TestLeaseIsRenewedInTimeAndGivenUpWithItsInterface(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.leases()
	l.document("cluster.yml", "interfaces:\n- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}\n")
	l.want(l.pass(nil), "applied")
	before := l.address("enp2s0")
	for _, tt := range []struct {
		later time.Duration
		renew bool
	}{{30 * time.Second, false}, {70 * time.Second, true}} { // the server leases for two minutes
		o := l.pass(func(c *child) { c.Keep, c.Later = true, tt.later })
		if renewed := strings.Contains(o.Log, "msg=lease"); renewed != tt.renew {
			t.Errorf("after %s: renewed: %t\n%s", tt.later, renewed, o.Log)
		}
		if after := l.address("enp2s0"); after != before {
			t.Errorf("the address was %s, and is %s", before, after)
		}
	}
	l.document("cluster.yml", "interfaces:\n- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.168.111.110, prefix-length: 24}]}, ipv6: {enabled: false}}\n")
	l.want(l.pass(nil), "applied")
	if o := l.pass(func(c *child) { c.Keep, c.Later = true, time.Hour }); strings.Contains(o.Log, "lease") {
		t.Errorf("a lease that was given up is renewed:\n%s", o.Log)
	}
	if after := l.address("enp2s0"); after != "192.168.111.110/24" {
		t.Errorf("the address is %s", after)
	}
}

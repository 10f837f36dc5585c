package dhcp

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// inBubble runs a test whose time passes at once.
func inBubble(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newNetwork(t)) })
}

func TestLeaseIsRenewedRepeatedly(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		address := p.add()
		hours(24)
		asked := see(n, func() []string { return slices.Clone(n.asked) })
		if len(asked) < 45 || slices.ContainsFunc(asked[1:], func(s string) bool { return s != "renew" }) {
			t.Errorf("in a day, a lease of an hour caused %q", asked)
		}
		if !see(n, func() bool { return n.has[address] }) || len(p.seen()) != 0 {
			t.Errorf("the pod lost its address; events %q", p.seen())
		}
		if err := p.Check(t.Context(), call(), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestServerUnavailableAtRenewalIsReplacedByAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		p.add()
		n.set(func() { n.away = true })
		hours(0.9) // T2 is after 52 minutes
		n.set(func() {
			n.away, n.more = false, []dhcpv4.Modifier{dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(192, 0, 2, 2)))}
		})
		hours(0.3)
		asked := see(n, func() []string { return slices.Clone(n.asked) })
		if !slices.Contains(asked, "rebind") || len(p.seen()) != 0 {
			t.Errorf("asked %q, events %q", asked, p.seen())
		}
		n.set(func() { n.asked = nil })
		hours(5)
		if asked := see(n, func() []string { return n.asked }); slices.Contains(asked, "rebind") {
			t.Errorf("the lease of the second server is not renewed, but rebound: %q", asked)
		}
	})
}

func TestUnansweredRequestDoesNotDelayTheNextState(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		n.valid, n.deaf = 8, "renew" // T1 after 4 seconds, T2 after 7
		p := n.start(t.TempDir())
		defer p.stop()
		p.add()
		time.Sleep(10 * time.Minute)
		if len(p.seen()) != 0 {
			t.Errorf("events %q, although each lease could be rebound", p.seen())
		}
	})
}

func TestRefusedOfferIsRequestedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		n.refuseOffers = 2
		p := n.start(t.TempDir())
		defer p.stop()
		p.add()
		n.set(func() { n.refuseOffers = 1000 })
		if err := p.Del(t.Context(), call()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err := p.Add(t.Context(), call())
		if took := time.Since(start); took != defaultAcquireTimeout || err == nil || !strings.Contains(err.Error(), `192.0.2.1 refuses the address: "address in use"`) {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestExpiredLeaseIsRemovedFromThePodAndAcquiredAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := t.TempDir()
		p := n.start(dir)
		defer p.stop()
		address := p.add()
		routes := see(n, func() []LinkRoute { return n.routes })
		n.set(func() { n.away = true })
		hours(0.99)
		if !see(n, func() bool { return n.has[address] }) {
			t.Error("the address is removed before the lease has expired")
		}
		hours(0.02)
		if see(n, func() bool { return n.has[address] }) {
			t.Error("the pod keeps an address whose lease has expired")
		}
		if diff := cmp.Diff([]string{ReasonLost}, p.seen()); diff != "" {
			t.Error(diff)
		}
		if want := "net1 (network lan) lost the address 192.0.2.10: the lease has expired"; !strings.HasPrefix(p.last(), want) {
			t.Errorf("event %q, expected %q", p.last(), want)
		}
		if err := p.Check(t.Context(), call(), nil); err == nil {
			t.Error("CHECK succeeds without a lease")
		}
		hours(8)
		if len(p.seen()) != 1 {
			t.Errorf("the loss is reported more than once: %q", p.seen())
		}
		n.set(func() { n.away = false })
		hours(0.2)
		if !see(n, func() bool { return n.has[address] }) || p.seen()[len(p.seen())-1] != ReasonRestored {
			t.Errorf("the address is not restored; events %q", p.seen())
		}
		if diff := cmp.Diff(routes, see(n, func() []LinkRoute { return n.routes }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("routes: %s", diff)
		}
		if err := p.Check(t.Context(), call(), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestRefusedLeaseIsLostAtOnceAndAnotherAddressIsNotUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		address := p.add()
		n.set(func() { n.refuse, n.reserved = true, []netip.Addr{address.Addr()} })
		hours(2)
		if see(n, func() bool { return len(n.has) > 0 }) {
			t.Error("the pod has an address")
		}
		if diff := cmp.Diff([]string{ReasonLost, ReasonOther}, slices.Compact(p.seen())[:2]); diff != "" {
			t.Error(diff)
		}
		if asked := see(n, func() []string { return n.asked }); asked[1] != "renew" || asked[2] != "discover" || len(asked) > 40 {
			t.Errorf("asked %q", asked)
		}
		if err := p.Del(t.Context(), call()); err != nil {
			t.Fatal(err)
		}
		if released := see(n, func() []netip.Addr { return n.released }); len(released) != 0 {
			t.Errorf("released %v, which another client may have", released)
		}
	})
}

func TestChangedOptionsAreReportedOnceAndNotApplied(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		p.add()
		n.set(func() { n.more = []dhcpv4.Modifier{dhcpv4.WithRouter(net.IPv4(192, 0, 2, 99))} })
		hours(6)
		if diff := cmp.Diff([]string{ReasonChanged}, p.seen()); diff != "" {
			t.Fatal(diff)
		}
		if want := "the routes are 0.0.0.0/0 via 192.0.2.99 (were none)"; !strings.Contains(p.last(), want) {
			t.Errorf("event %q, expected %q", p.last(), want)
		}
	})
}

func TestAcknowledgementOfAnotherAddressEndsTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		address := p.add()
		n.set(func() {
			n.more, n.reserved = []dhcpv4.Modifier{dhcpv4.WithYourIP(net.IPv4(192, 0, 2, 200))}, []netip.Addr{address.Addr()}
		})
		hours(0.6)
		if see(n, func() bool { return len(n.has) > 0 }) || !strings.Contains(p.events[0].Message, "now gives 192.0.2.200") {
			t.Errorf("events %+v", p.events)
		}
	})
}

func TestLeaseSurvivesTheProcess(t *testing.T) {
	for _, tt := range []struct {
		reason string
		// away is how long no process runs, in hours.
		away float64
		// first is what the next process sends within a minute, "" for nothing.
		first  string
		events []string
	}{
		{"before T1 nothing is sent", 0.1, "", nil},
		{"after T1 it is renewed at once", 0.6, "renew", nil},
		{"after T2 it is rebound at once", 0.9, "rebind", nil},
		{"after its end it is lost, and asked for again", 30, "discover", []string{ReasonLost, ReasonRestored}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network) {
				dir := t.TempDir()
				p := n.start(dir)
				address := p.add()
				p.stop()
				n.set(func() { n.asked = nil })
				hours(tt.away)
				p = n.start(dir)
				time.Sleep(time.Minute)
				first := ""
				if asked := see(n, func() []string { return n.asked }); len(asked) > 0 {
					first = asked[0]
				}
				if first != tt.first || !slices.Equal(p.seen(), tt.events) {
					t.Errorf("sent %q, events %q; expected %q and %q", first, p.seen(), tt.first, tt.events)
				}
				if !see(n, func() bool { return n.has[address] }) {
					t.Error("the pod has lost its address")
				}
				if err := p.Check(t.Context(), call(), nil); err != nil {
					t.Error(err)
				}
				p.stop()

				// A process that has never asked for it releases it.
				p = n.start(dir)
				defer p.stop()
				if err := p.Del(t.Context(), call()); err != nil {
					t.Fatal(err)
				}
				if released := see(n, func() []netip.Addr { return n.released }); !slices.Equal(released, []netip.Addr{address.Addr()}) {
					t.Errorf("released %v", released)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
					t.Errorf("left on disk: %v, %v", left, err)
				}
			})
		})
	}
}

func TestProcessThatEndedWhileALeaseWasLostRemovesTheAddressAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := t.TempDir()
		p := n.start(dir)
		address := p.add()
		n.set(func() { n.away = true })
		hours(1.1)
		p.stop()
		n.set(func() { n.has[address] = true }) // as if it had ended between writing the record and removing the address
		p = n.start(dir)
		time.Sleep(time.Minute)
		if see(n, func() bool { return n.has[address] }) {
			t.Error("the pod has a lost address")
		}
		n.set(func() { n.away = false })
		hours(0.2)
		if diff := cmp.Diff([]string{ReasonRestored}, p.seen()); diff != "" {
			t.Error(diff)
		}
		p.stop()
	})
}

func TestAddFailsWithoutAServerWithinItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		n.set(func() { n.away = true })
		for _, tt := range []struct {
			given, want time.Duration
		}{{100 * time.Second, 30 * time.Second}, {12 * time.Second, 10 * time.Second}} {
			ctx, cancel := context.WithTimeout(t.Context(), tt.given)
			start := time.Now()
			_, err := p.Add(ctx, call())
			cancel()
			if took := time.Since(start); took != tt.want {
				t.Errorf("with a deadline of %s: %s, expected %s", tt.given, took, tt.want)
			}
			if e := cniproto.AsError(err); e.Code != cniproto.CodeTryAgain || !strings.Contains(e.Message, "no DHCP server answered within "+tt.want.String()) {
				t.Errorf("error %d: %v", e.Code, err)
			}
		}
		if err := p.Del(t.Context(), call()); err != nil {
			t.Errorf("DEL of what was not added: %v", err)
		}
	})
}

func TestDelWithoutTheNamespaceReleasesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := t.TempDir()
		p := n.start(dir)
		defer p.stop()
		p.add()
		c := call()
		c.NetNS = ""
		if err := p.Del(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 || len(n.released) != 0 {
			t.Errorf("left %v, released %v", left, n.released)
		}
		hours(3)
		if asked := see(n, func() []string { return n.asked }); len(asked) != 1 {
			t.Errorf("the lease is renewed after DEL: %q", asked)
		}
	})
}

func TestLeaseOfADeletedInterfaceIsForgottenWithoutAnEvent(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := t.TempDir()
		p := n.start(dir)
		defer p.stop()
		p.add()
		n.set(func() { n.gone = true })
		hours(3)
		if asked := see(n, func() []string { return n.asked }); len(asked) != 2 || len(p.seen()) != 0 {
			t.Errorf("asked %q, events %q", asked, p.seen())
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left %v", left)
		}
		if err := p.Check(t.Context(), call(), nil); err == nil {
			t.Error("CHECK succeeds without an interface")
		}
		if err := p.Del(t.Context(), call()); err != nil {
			t.Error(err)
		}
	})
}

func TestLeaseThatCannotBeSavedIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := filepath.Join(t.TempDir(), "leases")
		p := n.start(dir)
		defer p.stop()
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Add(t.Context(), call()); err == nil || !strings.Contains(err.Error(), "save the lease") {
			t.Errorf("error %v", err)
		}
		if len(n.released) != 1 {
			t.Errorf("released %v", n.released)
		}
	})
}

func TestDeletedDirectoryIsRecreatedAtTheNextRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := filepath.Join(t.TempDir(), "leases")
		p := n.start(dir)
		p.add()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		hours(0.6)
		p.stop()
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("directory %v, %v", info, err)
		}
		p = n.start(dir)
		defer p.stop()
		if err := p.Check(t.Context(), call(), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestDamagedRecordIsSetAsideAndTheOthersAreUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		dir := t.TempDir()
		p := n.start(dir)
		p.add()
		p.stop()
		if err := os.WriteFile(filepath.Join(dir, "0123.json"), []byte(`{"format":`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "4567.json"), []byte(`{"format":2}`), 0o600); err != nil {
			t.Fatal(err)
		}
		p = n.start(dir)
		defer p.stop()
		if err := p.Check(t.Context(), call(), nil); err != nil {
			t.Error(err)
		}
		aside, _ := filepath.Glob(filepath.Join(dir, "*.json.damaged"))
		if len(aside) != 2 {
			t.Errorf("set aside: %v", aside)
		}
	})
}

func TestInvalidConfigurationAndMissingInterfaceAreErrorsOfTheNetwork(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network) {
		p := n.start(t.TempDir())
		defer p.stop()
		wrong := call()
		wrong.Config = []byte(`{"ipam":{"type":"dhcp","range":"192.0.2.0/24"}}`)
		_, err := p.Add(t.Context(), wrong)
		if e := cniproto.AsError(err); e.Code != cniproto.CodeInvalidConfig || !strings.Contains(e.Message, "must be one of daemonSocketPath") {
			t.Errorf("error %d: %v", e.Code, err)
		}
		n.set(func() { n.gone = true })
		_, err = p.Add(t.Context(), call())
		if e := cniproto.AsError(err); e.Code != cniproto.CodeInvalidConfig || !strings.Contains(e.Message, "dhcp is the ipam of a plugin that creates it") {
			t.Errorf("error %d: %v", e.Code, err)
		}
	})
}

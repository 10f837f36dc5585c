package kernelwatch_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func TestWatch(t *testing.T) {
	at := netns.New(t, "watch")
	at.Run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
	at.Run("ip", "link", "set", "far", "up")
	at.Run("ip", "link", "set", "near", "up")
	at.Run("ip", "address", "add", "192.0.2.1/24", "dev", "near")
	reports := make(chan struct{}, 1000)
	ended := make(chan error, 1)
	go func() {
		ended <- ns.WithNetNSPath(at.Path(), func(ns.NetNS) error {
			link, err := netlink.LinkByName("near")
			if err != nil {
				return err
			}
			inside := netip.MustParsePrefix("10.0.0.0/8")
			return kernelwatch.Watch(t.Context(), kernelwatch.Filter{
				Links: []int{link.Attrs().Index}, Route: inside.Overlaps,
			}, func() { reports <- struct{}{} })
		})
	}()
	wait := func(what string) {
		t.Helper()
		select {
		case <-reports:
		case err := <-ended:
			t.Fatalf("%s: the watch has ended: %v", what, err)
		case <-time.After(time.Minute):
			t.Fatalf("%s is not reported", what)
		}
	}
	// Until the subscription exists, nothing is reported.
	for subscribed := false; !subscribed; {
		at.Run("ip", "route", "replace", "10.255.0.0/16", "via", "192.0.2.2")
		at.Run("ip", "route", "delete", "10.255.0.0/16")
		select {
		case <-reports:
			subscribed = true
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	// A report may be late: then it counts for the next change, which only weakens the test.
	drain := func() {
		for quiet := false; !quiet; {
			select {
			case <-reports:
			case <-time.After(100 * time.Millisecond):
				quiet = true
			}
		}
	}
	drain()
	for _, tt := range []struct {
		what string
		args []string
	}{
		{"a route into the network", []string{"ip", "route", "add", "10.1.0.0/16", "via", "192.0.2.2"}},
		{"the end of a route into the network", []string{"ip", "route", "delete", "10.1.0.0/16"}},
		{"an address of the interface", []string{"ip", "address", "add", "203.0.113.2/32", "dev", "near"}},
		{"a default route", []string{"ip", "route", "add", "default", "via", "192.0.2.2"}},
		{"the interface", []string{"ip", "link", "set", "near", "mtu", "1400"}},
	} {
		at.Run(tt.args...)
		wait(tt.what)
		drain()
	}
}

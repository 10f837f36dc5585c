package plugin

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// unanswered is how long a test waits for an answer that must not come.
const unanswered = 300 * time.Millisecond

var (
	destinations   = []string{"8080 TCP 203.0.113.26 80", "8080 udp 203.0.113.26 53", "8443 TCP 203.0.113.27/30", "9000 SCTP 203.0.113.26"}
	destinationsV6 = []string{"8080 TCP 2001:db8::26 80", "8080 UDP 2001:db8::26 53", "8443 TCP 2001:db8::27", "9000 SCTP 2001:db8::26"}
)

// listenOutside serves every destination, on the ports of rules and on one that no rule names.
func listenOutside(t *testing.T, l *lan) {
	t.Helper()
	for _, address := range []string{"203.0.113.26:80", "203.0.113.27:8443", "203.0.113.28:7000", "[2001:db8::26]:80", "[2001:db8::27]:8443", "[2001:db8::28]:7000"} {
		serve(t, l.outside, "tcp", address)
	}
	for _, address := range []string{"203.0.113.26:53", "203.0.113.28:7000", "[2001:db8::26]:53", "[2001:db8::28]:7000"} {
		serve(t, l.outside, "udp", address)
	}
}

func TestConnectionsOfEveryClientLeaveWithTheRoutersAddress(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", append(destinations, anotherDestination)...))
	n.add(n.pod, "net2", config("1.1.0", routerIPv6+"/64", "fd12::1", append(destinationsV6, anotherDestinationV6)...))
	for _, row := range []struct{ why, network, port, wantV4, wantV6 string }{
		{"a rule with another port at the destination", "tcp", "8080", "203.0.113.26:80", "[2001:db8::26]:80"},
		{"the same port of another protocol", "udp", "8080", "203.0.113.26:53", "[2001:db8::26]:53"},
		{"a rule with the same port", "tcp", "8443", "203.0.113.27:8443", "[2001:db8::27]:8443"},
		{"the fallback, on its port", "tcp", "7000", "203.0.113.28:7000", "[2001:db8::28]:7000"},
		{"the fallback, UDP", "udp", "7000", "203.0.113.28:7000", "[2001:db8::28]:7000"},
	} {
		for name, from := range map[string]netns.Namespace{"a pod of another node": n.client, "the node": n.Namespace} {
			t.Run(row.why+", "+name, func(t *testing.T) {
				reaches(t, from, row.network, podIPv4+":"+row.port, routerIPv4+" at "+row.wantV4)
				reaches(t, from, row.network, "["+podIPv6+"]:"+row.port, routerIPv6+" at "+row.wantV6)
			})
		}
	}
}

func TestPortsWithoutARuleAreRefused(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", destinations...))
	for _, network := range []string{"tcp", "udp"} {
		if got, err := dial(n.client, network, podIPv4+":7000", patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %q, %v", network, got, err)
		}
	}
}

// The pod's own processes connect to named destinations only, with the ports of the rules, and are refused at once elsewhere.
func TestContainerOfTheRouterReachesOnlyItsDestinations(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	serve(t, l.outside, "tcp", "192.168.12.1:80")
	serve(t, l.outside, "tcp", "203.0.113.26:7000")
	serve(t, l.outside, "tcp", "[fd12::1]:80")
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", destinations...))
	n.add(n.pod, "net2", config("0.4.0", routerIPv6+"/64", "fd12::1", append(destinationsV6, anotherDestinationV6)...))
	reaches(t, n.pod, "tcp", "203.0.113.26:80", routerIPv4+" at 203.0.113.26:80")
	reaches(t, n.pod, "udp", "203.0.113.26:53", routerIPv4+" at 203.0.113.26:53")
	reaches(t, n.pod, "tcp", "[2001:db8::28]:7000", routerIPv6+" at [2001:db8::28]:7000")
	for _, address := range []string{"203.0.113.28:7000", "203.0.113.26:7000", "192.168.12.1:80", "[fd12::1]:80", "[2001:db8::26]:7000"} {
		if got, err := dial(n.pod, "tcp", address, patience); err == nil || os.IsTimeout(err) {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// No host outside reaches a port of the pod, or the pod network through it; and a client that uses the pod as its router reaches nothing.
func TestNothingElseIsForwarded(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", append(destinations, anotherDestination)...))
	n.add(n.pod, "net2", config("0.4.0", routerIPv6+"/64", "fd12::1", append(destinationsV6, anotherDestinationV6)...))
	for _, address := range []string{"0.0.0.0:4000", "[::]:4000"} {
		serve(t, n.pod, strings.Replace("tcp4", "4", map[bool]string{true: "6", false: "4"}[address[0] == '['], 1), address)
	}
	serve(t, n.client, "tcp", clientIPv4+":4000")
	l.outside.Run("ip", "route", "add", "10.244.0.0/16", "via", routerIPv4)
	l.outside.Run("ip", "-6", "route", "add", "fd00::/16", "via", routerIPv6)
	for _, address := range []string{routerIPv4 + ":4000", "[" + routerIPv6 + "]:4000", podIPv4 + ":4000", "[" + podIPv6 + "]:4000", clientIPv4 + ":4000", "[fd00:2::5]:4000"} {
		if got, err := dial(l.outside, "tcp", address, unanswered); err == nil || !isTimeout(err) {
			t.Errorf("from outside, %s: %q, %v", address, got, err)
		}
	}
	// Through the pod, to an address that is a destination, and to one that is not.
	n.client.Run("ip", "route", "add", "203.0.113.0/24", "via", "10.244.2.1")
	n.Run("ip", "route", "add", "203.0.113.0/24", "via", podIPv4)
	n.Run("ip", "-6", "route", "add", "2001:db8::/32", "via", podIPv6)
	for _, address := range []string{"203.0.113.26:80", "203.0.113.28:7000", "[2001:db8::26]:80"} {
		if got, err := dial(n.client, "tcp", address, unanswered); err == nil || !isTimeout(err) {
			t.Errorf("through the pod, %s: %q, %v", address, got, err)
		}
	}
}

// The pod is no way around the rules of the pod network either: what comes in by eth0 does not leave by it.
func TestNothingIsForwardedInsideThePodNetwork(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	other := n.newPod("other", "3", "3")
	serve(t, other, "tcp", "10.244.3.3:4000")
	n.pod.Run("ip", "route", "add", "10.244.3.0/24", "via", "10.244.1.1")
	reaches(t, n.client, "tcp", "10.244.3.3:4000", clientIPv4+" at 10.244.3.3:4000")
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", append(destinations, anotherDestination)...))
	n.Run("ip", "rule", "add", "iif", "pod2", "to", "10.244.3.0/24", "lookup", "50")
	n.Run("ip", "route", "add", "default", "via", podIPv4, "table", "50")
	if got, err := dial(n.client, "tcp", "10.244.3.3:4000", unanswered); err == nil || !isTimeout(err) {
		t.Errorf("%q, %v", got, err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// IPv4 packets to the MAC address of the interface for IPv6 must not get in there.
func TestInterfaceOfAFamilyDropsPacketsOfTheOther(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", destinations...))
	v6 := n.add(n.pod, "net2", config("0.4.0", routerIPv6+"/64", "fd12::1", destinationsV6...))
	serve(t, n.pod, "tcp4", "0.0.0.0:4000")
	l.outside.Run("ip", "neigh", "replace", routerIPv4, "lladdr", v6.Interfaces[0].Mac, "dev", "eth0", "nud", "permanent")
	if got, err := dial(l.outside, "tcp", routerIPv4+":4000", unanswered); err == nil || !isTimeout(err) {
		t.Errorf("%q, %v", got, err)
	}
	// Each address is at the interface that has it, though both are on one link.
	l.outside.Run("ip", "neigh", "del", routerIPv4, "dev", "eth0")
	_, _ = l.outside.Try("ping", "-c1", "-W1", routerIPv4)
	if neighbors := l.outside.Run("ip", "neigh", "show", routerIPv4); !strings.Contains(neighbors, "lladdr") || strings.Contains(neighbors, v6.Interfaces[0].Mac) {
		t.Errorf("the outside host knows %s", neighbors)
	}
}

// Replies go by the gateway of the pod network also if its default route is removed before the plugin runs.
func TestRepliesReturnAlthoughTheDefaultRouteIsRemoved(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.pod.Run("ip", "route", "add", "10.244.0.0/16", "via", "10.244.1.1")
	n.pod.Run("ip", "route", "del", "default")
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", destinations...))
	reaches(t, n.client, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
	// A client that no route of the pod network names.
	n.Run("ip", "addr", "add", "172.20.0.1/32", "dev", "lo")
	n.Run("ip", "route", "add", podIPv4+"/32", "dev", "pod1", "src", "172.20.0.1")
	reaches(t, n.Namespace, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
}

// The strict check of sources, which many distributions switch on, does not keep clients out.
func TestClientsWorkWithStrictReversePathFiltering(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.pod.Run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=1", "net.ipv4.conf.default.rp_filter=1", "net.ipv4.conf.eth0.rp_filter=1")
	n.add(n.pod, "net1", config("0.4.0", routerIPv4+"/24", "192.168.12.1", destinations...))
	reaches(t, n.client, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
}

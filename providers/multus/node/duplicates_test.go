package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func TestDuplicateAddressIsReportedOnce(t *testing.T) {
	node, pod := netns.New(t, "node"), netns.New(t, "pod")
	node.Run("ip", "link", "add", "far0", "type", "veth", "peer", "name", "net1", "netns", pod.Name)
	for _, ip := range []string{"192.0.2.9/24", "2001:db8::9/64"} {
		node.Run("ip", "address", "add", ip, "dev", "far0", "nodad")
		pod.Run("ip", "address", "add", ip, "dev", "net1", "nodad")
	}
	pod.Run("ip", "address", "add", "192.0.2.10/24", "dev", "net1")
	node.Run("ip", "link", "set", "far0", "up")
	pod.Run("ip", "link", "set", "net1", "up")
	result := json.RawMessage(`{"cniVersion":"1.0.0","interfaces":[{"name":"host1"},{"name":"net1","sandbox":"/n"}],"ips":[{"interface":1,"address":"192.0.2.9/24"},` +
		`{"interface":1,"address":"192.0.2.10/24"},{"interface":1,"address":"2001:db8::9/64"},{"interface":0,"address":"192.0.2.99/24"}]}`)
	all := []attach.Saved{{Pod: wire.Pod{Namespace: "ns", Name: "p", UID: "u"}, Sandbox: "c1", NetNS: pod.Path(), Networks: []wire.Network{
		{Name: "pods", Interface: "eth0", Default: true, Result: result}, {Name: "ns/lan", Interface: "net1", Result: result}}}}
	var events []string
	d := &duplicates{
		saved: func() ([]attach.Saved, error) { return all, nil }, holder: holder, log: slog.New(slog.DiscardHandler),
		event: func(pod wire.Pod, reason, message string) {
			text, _, _ := strings.Cut(message, ";")
			events = append(events, fmt.Sprintf("%s/%s %s %s", pod.Namespace, pod.Name, reason, text))
		},
	}
	for range 2 {
		if err := d.check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, after, _ := strings.Cut(node.Run("ip", "-o", "link", "show", "far0"), "link/ether ")
	mac := strings.Fields(after)[0]
	var want []string
	for _, ip := range []string{"192.0.2.9", "2001:db8::9"} {
		want = append(want, fmt.Sprintf("ns/p AddressInUse the address %s of interface net1 (network ns/lan) is also that of the machine with MAC address %s", ip, mac))
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if d.count() != 2 {
		t.Errorf("%d duplicates", d.count())
	}
	all = nil
	if err := d.check(t.Context()); err != nil || d.count() != 0 || len(d.probed) != 0 {
		t.Errorf("a sandbox that has ended is kept: %v, %v", d.probed, err)
	}
}

func TestDuplicateAddressDetectionMayBeInconclusive(t *testing.T) {
	all := []attach.Saved{{Sandbox: "c1", Networks: []wire.Network{{Name: "ns/lan", Interface: "net1", Result: json.RawMessage(`{"cniVersion":"1.0.0","ips":[{"address":"192.0.2.9/24"}]}`)},
		{Name: "ns/two", Interface: "net2", Result: json.RawMessage(`{`)}}}}
	for why, failure := range map[string]error{"the sandbox ends": fs.ErrNotExist, "the kernel refuses": errors.New("not permitted")} {
		d := &duplicates{
			saved: func() ([]attach.Saved, error) { return all, nil }, log: slog.New(slog.DiscardHandler),
			holder: func(string, string, netip.Addr) (net.HardwareAddr, bool, error) { return nil, false, failure },
			event:  func(_ wire.Pod, _, message string) { t.Errorf("%s: %s", why, message) },
		}
		if err := d.check(t.Context()); err != nil || d.count() != 0 {
			t.Errorf("%s: %v", why, err)
		}
	}
}

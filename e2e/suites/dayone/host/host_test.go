package host

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/image"
)

func sharedRoot(t *testing.T) string {
	t.Helper()
	root, err := Root(context.Background(), image.DefaultCache(os.Getenv), func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestPowerCutKeepsOnlyTheDisk(t *testing.T) {
	root := sharedRoot(t)
	s := NewSegment(t, root, "192.168.111.1/24", "")
	h := New(t, root, "master-0")
	h.Plug(s, "enp2s0", "cable0", "00:d7:a3:95:42:1f")
	for range 2 {
		h.Boot()
		if id, err := h.NetworkID(); err != nil {
			t.Fatal(err)
		} else if machine, _ := os.Readlink("/proc/self/ns/net"); id == machine {
			t.Fatal("the host is in the machine's network")
		}
		if h.Ping(s.Router) == nil {
			t.Error("a host without an address can ping")
		}
		h.Run("ip", "address", "add", "192.168.111.110/24", "dev", "enp2s0")
		h.Run("ip", "link", "set", "enp2s0", "up")
		h.Eventually(time.Minute, "the router answers", func() error { return h.Ping(s.Router) })
		if out, _ := h.Try("cat", "/run/gone"); out != "" && out[0] == 'g' {
			t.Error("/run was kept")
		}
		h.Write("/run/gone", "gone", 0o644)
		h.Write("/etc/kept", fmt.Sprint(h.pid), 0o600)
		h.PowerOff()
	}
	h.Boot()
	if out := h.Run("cat", "/etc/kept"); out == "" {
		t.Error("the disk was lost")
	}
}

func TestHostRunsRealDaemons(t *testing.T) {
	root := sharedRoot(t)
	s := NewSegment(t, root, "192.168.111.1/24", "192.168.111.20,192.168.111.80")
	h := New(t, root, "master-0")
	h.Plug(s, "enp2s0", "cable0", "00:d7:a3:95:42:1f")
	h.Boot()
	h.StartBus()
	h.StartSwitch()
	h.StartManager(true)
	h.Run("ovs-vsctl", "add-br", "br-ex", "--", "set", "bridge", "br-ex", "datapath_type=netdev")
	h.Run("ip", "link", "show", "br-ex")
	h.Run("nmcli", "connection", "add", "type", "ethernet", "ifname", "enp2s0", "con-name", "wired", "ipv4.method", "auto")
	h.Eventually(time.Minute, "the lease exists", func() error { return h.Ping(s.Router) })
	t.Log(h.Run("nmcli", "device"), h.Run("cat", "/etc/resolv.conf"))
}

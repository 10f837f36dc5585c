package dhcp

import (
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// TestProgramOfContainernetworkingIsServed calls as that program does: see its rpcCall.
func TestProgramOfContainernetworkingIsServed(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	l.dnsmasq("--dhcp-range=192.168.77.10,192.168.77.50,2m")
	l.startAgent()
	l.node.Run("ip", "link", "add", "net1", "link", "eth0", "netns", l.pod.Name, "type", "macvlan", "mode", "bridge")
	var client *rpc.Client
	eventually.Holds(t, "the legacy socket is served", func() (string, bool) {
		c, err := rpc.DialHTTP("unix", l.legacy())
		client = c
		return l.log.String(), err == nil
	})
	defer func() { _ = client.Close() }()
	for _, version := range []string{"0.4.0", "1.1.0"} {
		args := &skel.CmdArgs{ContainerID: "c1", Netns: l.pod.Path(), IfName: "net1", Args: "K8S_POD_NAME=web-0", StdinData: []byte(`{"cniVersion":"` + version + `","name":"lan","type":"macvlan","ipam":{"type":"dhcp"}}`)}
		first, again := &current.Result{}, &current.Result{}
		for _, result := range []*current.Result{first, again} { // the second call is its CHECK
			if err := client.Call("DHCP.Allocate", args, result); err != nil {
				t.Fatalf("%s: %v\n%s", version, err, l.log)
			}
		}
		if len(first.IPs) != 1 || !strings.Contains(l.leases(), first.IPs[0].Address.IP.String()) || first.IPs[0].Address.String() != again.IPs[0].Address.String() {
			t.Errorf("%s: results %v and %v, dnsmasq has %q", version, first, again, l.leases())
		}
		args.Netns = "/" // what the program makes of an empty path
		if err := client.Call("DHCP.Release", args, &struct{}{}); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		l.released()
	}
	wrong := &skel.CmdArgs{ContainerID: "c1", Netns: l.pod.Path(), IfName: "net1", StdinData: []byte(`{"cniVersion":"1.1.0","name":"lan","ipam":{"type":"dhcp","range":"x"}}`)}
	if err := client.Call("DHCP.Allocate", wrong, &current.Result{}); err == nil || !strings.Contains(err.Error(), "is not a key") {
		t.Errorf("error %v", err)
	}
}

func TestLegacySocketOfAnotherDaemonIsNotReplaced(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "dhcp.sock")
	if err := os.Mkdir(filepath.Dir(socket), 0o755); err != nil { //nolint:gosec // as other programs create it
		t.Fatal(err)
	}
	other, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenLegacy(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "another daemon uses the socket") {
		t.Errorf("error %v", err)
	}
	// A daemon that was killed leaves its socket.
	other.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := listenLegacy(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(socket)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("directory %v, %v", info, err)
	}
	if err := os.WriteFile(socket+"x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenLegacy(t.Context(), socket+"x"); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("error %v", err)
	}
}

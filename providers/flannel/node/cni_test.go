package node_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// addPod starts a pod's network as a container runtime does: with the first configuration in the directory.
func addPod(t *testing.T, m *machine) (netns.Namespace, netip.Addr) {
	t.Helper()
	files, err := libcni.ConfFiles(m.config.CNI.ConfDir, []string{".conf", ".conflist", ".json"})
	if err != nil || len(files) != 1 {
		t.Fatalf("the configurations are %v, %v", files, err)
	}
	list, err := libcni.ConfListFromFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	pod := netns.New(t, m.name+"-pod")
	bin := assets.Dir(t, "bridge")
	cni := libcni.NewCNIConfigWithCacheDir([]string{bin}, filepath.Join(m.dir, "cache"), nil)
	attachment := &libcni.RuntimeConf{ContainerID: pod.Name, NetNS: pod.Path(), IfName: "eth0"}
	var addr netip.Addr
	inNode := func(f func() error) {
		t.Helper()
		if err := ns.WithNetNSPath(m.netns.Path(), func(ns.NetNS) error { return f() }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.RemoveAll("/var/lib/cni/networks/" + list.Name + "/" + addr.String()) })
	inNode(func() error {
		result, err := cni.AddNetworkList(t.Context(), list, attachment)
		if err != nil {
			return err
		}
		full, err := types100.GetResult(result)
		if err != nil {
			return err
		}
		addr, _ = netip.AddrFromSlice(full.IPs[0].Address.IP.To4())
		return nil
	})
	return pod, addr
}

func TestRealPluginsStartPodsWithTheConfiguration(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	for _, m := range []*machine{one, two} {
		m.config.CNI.BinDir = assets.Dir(t, "bridge")
		m.config.CNI.PortMap = false // needs iptables rules of its own; the configuration's golden has it
		m.ready()
	}
	pod1, addr1 := addPod(t, one)
	pod2, addr2 := addPod(t, two)
	if !one.subnet().Contains(addr1) || !two.subnet().Contains(addr2) {
		t.Errorf("pods have %s and %s, the subnets are %s and %s", addr1, addr2, one.subnet(), two.subnet())
	}
	pings(t, pod1, addr2)
	pings(t, pod2, addr1)
	pings(t, pod1, netip.MustParseAddr(gateway))
}

func TestConfigurationIsWrittenAfterThePluginsAreInstalled(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.config.CNI.BinDir = t.TempDir()
	m.start()
	m.until("the agent reports what it waits for", func() (string, bool) {
		out, err := m.netns.Try("curl", "-s", "http://127.0.0.1:19099/readyz")
		return out, err == nil && containsAll(out, "not ready", "bridge, host-local, loopback, portmap")
	})
	if _, err := os.Stat(filepath.Join(m.config.CNI.ConfDir, "10-flannel.conflist")); !os.IsNotExist(err) {
		t.Errorf("the configuration exists: %v", err)
	}
	out, err := m.netns.Try(program, "install-cni", "--from", assets.Dir(t, "bridge"), "--to", m.config.CNI.BinDir)
	if err != nil {
		t.Fatal(out)
	}
	m.waitReady()
}

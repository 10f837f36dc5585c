package node_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// BenchmarkCNI measures ADD and DEL of 1, 10 and 100 pods at once: of a network whose agent serves CNI, next to a chain of standard plugins
// (bridge, host-local and portmap) as flannel configures it. Both run as container runtimes run them.
func BenchmarkCNI(b *testing.B) {
	c := running(b, 1, "10.0.0.0/16", 22)
	m := c.nodes[0]
	served := func() (*libcni.CNIConfig, *libcni.NetworkConfigList) {
		list, err := libcni.ConfListFromFile(filepath.Join(m.config.ConfDir, "10-toy.conflist"))
		if err != nil {
			b.Fatal(err)
		}
		return libcni.NewCNIConfigWithCacheDir([]string{plugins}, filepath.Join(m.dir, "cache"), nil), list
	}
	for _, network := range []struct {
		name string
		open func() (*libcni.CNIConfig, *libcni.NetworkConfigList)
	}{
		{"agent", served},
		{"chain", func() (*libcni.CNIConfig, *libcni.NetworkConfigList) { return chain(b, b.TempDir()) }},
	} {
		for _, atOnce := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/at-once=%d", network.name, atOnce), func(b *testing.B) {
				cni, list := network.open()
				var adds, dels []time.Duration
				for b.Loop() {
					b.StopTimer()
					sandboxes := make([]netns.Namespace, atOnce)
					for i := range sandboxes {
						sandboxes[i] = netns.New(b, "bench")
					}
					b.StartTimer()
					adds = append(adds, all(b, m, sandboxes, func(rt *libcni.RuntimeConf) error {
						_, err := cni.AddNetworkList(b.Context(), list, rt)
						return err
					})...)
					dels = append(dels, all(b, m, sandboxes, func(rt *libcni.RuntimeConf) error { return cni.DelNetworkList(b.Context(), list, rt) })...)
				}
				for name, took := range map[string][]time.Duration{"add": adds, "del": dels} {
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"-p50-ms")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"-p99-ms")
				}
			})
		}
	}
}

// all does something for all sandboxes at once, inside the node, and returns how long each took.
func all(b *testing.B, m *machine, sandboxes []netns.Namespace, do func(*libcni.RuntimeConf) error) []time.Duration {
	took, errs := make([]time.Duration, len(sandboxes)), make([]error, len(sandboxes))
	var calls sync.WaitGroup
	for i, sandbox := range sandboxes {
		calls.Go(func() {
			errs[i] = ns.WithNetNSPath(m.at.Path(), func(ns.NetNS) error {
				start := time.Now()
				err := do(&libcni.RuntimeConf{ContainerID: sandbox.Name, NetNS: sandbox.Path(), IfName: "eth0"})
				took[i] = time.Since(start)
				return err
			})
		})
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
	return took
}

// chain configures the standard plugins.
func chain(b *testing.B, dir string) (*libcni.CNIConfig, *libcni.NetworkConfigList) {
	_, subnet, err := net.ParseCIDR("10.77.0.0/22")
	if err != nil {
		b.Fatal(err)
	}
	name := "bench-" + filepath.Base(filepath.Dir(dir))
	data, err := cniconf.List{CNIVersion: "1.0.0", Name: name, Plugins: []any{
		map[string]any{"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true, "hairpinMode": true, "ipam": map[string]any{
			"type": "host-local", "dataDir": dir, "ranges": [][]map[string]string{{{"subnet": subnet.String()}}},
		}},
		cniconf.NewPortMap(),
	}}.Encode()
	if err != nil {
		b.Fatal(err)
	}
	list, err := libcni.ConfListFromBytes(data)
	if err != nil {
		b.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		b.Fatal(err)
	}
	return libcni.NewCNIConfigWithCacheDir([]string{assets.Dir(b, "bridge", "host-local", "portmap")}, cache, nil), list
}

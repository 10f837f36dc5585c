package attach

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/durations"
)

// BenchmarkAdd is the time of an ADD with further networks of macvlan and static addresses, beside the same plugins called by libcni one
// after the other in the same run, in turn. The daemon answers at once: what the shim itself adds is its records, and what it reads of the kernel.
func BenchmarkAdd(b *testing.B) {
	for _, networks := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("networks=%d", networks), func(b *testing.B) {
			f := newFixture(b)
			f.own = `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"bridge","bridge":"br-pods","isGateway":true,"isDefaultGateway":true,` +
				`"ipam":{"type":"host-local","dataDir":"` + filepath.Join(b.TempDir(), "pods") + `","subnet":"10.200.0.0/16"}}]}`
			f.path = assets.Dir(b, "bridge", "macvlan", "host-local", "static")
			annotations := map[string]string{}
			for i := range networks {
				annotations[wire.AnnotationNetworks] = "asks"
				f.plan.Attachments = append(f.plan.Attachments, wire.Attachment{Network: fmt.Sprintf("ns/n%d", i), Interface: fmt.Sprintf("net%d", i+1), List: json.RawMessage(fmt.Sprintf(
					`{"cniVersion":"1.0.0","name":"n%d","plugins":[{"type":"macvlan","master":"up0","mode":"bridge","ipam":{"type":"static","addresses":[{"address":"192.0.2.%d/24"}]}}]}`, i, 9+i))})
			}
			floor := libcni.NewCNIConfigWithCacheDir([]string{f.path}, b.TempDir(), newExec())
			lists := []network{{Interface: "eth0", List: json.RawMessage(f.own)}}
			for _, a := range f.plan.Attachments {
				lists = append(lists, network{Interface: a.Interface, List: a.List})
			}
			sandbox := record{ContainerID: "floor", NetNS: f.pod.Path()}

			var shim, plugins []time.Duration
			// Plugins have the network namespace of the thread that starts them.
			err := ns.WithNetNSPath(newNode(b).Path(), func(ns.NetNS) error {
				for b.Loop() {
					start := time.Now()
					f.must(cniproto.Add, annotations)
					shim = append(shim, time.Since(start))
					f.must(cniproto.Delete, annotations)

					start = time.Now()
					for _, n := range lists {
						list, rt, err := n.run(sandbox)
						if err != nil {
							return err
						}
						if _, err := floor.AddNetworkList(b.Context(), list, rt); err != nil {
							return err
						}
					}
					plugins = append(plugins, time.Since(start))
					for _, n := range slices.Backward(lists) {
						list, rt, err := n.run(sandbox)
						if err != nil {
							return err
						}
						if err := floor.DelNetworkList(b.Context(), list, rt); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			for name, all := range map[string][]time.Duration{"add": shim, "floor": plugins} {
				durations.Report(b, name, all)
			}
			b.ReportMetric(float64(shim[len(shim)/2])/float64(plugins[len(plugins)/2]), "p50-ratio")
		})
	}
}

// BenchmarkStatus is the time of a STATUS, with which a runtime asks every few seconds whether the node is ready, from the start of the shim's process until
// its end, beside the plugin of the default network called by hand, in turn. Plugins have STATUS since CNI 1.1.0: with it, the shim calls bridge.
func BenchmarkStatus(b *testing.B) {
	for _, version := range []string{"1.0.0", "1.1.0"} {
		b.Run("version="+version, func(b *testing.B) {
			f := newFixture(b)
			plugin := `"type":"bridge","bridge":"br-pods","ipam":{"type":"host-local","dataDir":"` + filepath.Join(b.TempDir(), "pods") + `","subnet":"10.200.0.0/16"}}`
			f.own = `{"cniVersion":"` + version + `","name":"pods","plugins":[{` + plugin + `]}`
			f.path = assets.Dir(b, "bridge", "host-local")
			self, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			r := f.request(cniproto.Status, nil)
			var shim, floor []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := f.run(self, r, ""); err != nil {
					b.Fatal(err)
				}
				shim = append(shim, time.Since(start))

				start = time.Now()
				cmd := exec.Command(filepath.Join(f.path, "bridge"))
				cmd.Env = []string{"CNI_COMMAND=STATUS", "CNI_PATH=" + f.path}
				cmd.Stdin = strings.NewReader(`{"cniVersion":"1.1.0","name":"pods",` + plugin)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				floor = append(floor, time.Since(start))
			}
			durations.Report(b, "status", shim)
			durations.Report(b, "floor", floor)
		})
	}
}

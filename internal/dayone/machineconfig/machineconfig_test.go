package machineconfig

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/google/go-cmp/cmp"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/placement/placementtest"
)

// typed returns the object as OpenShift's type, which it must fit without a field left over.
func typed(t testing.TB, object *unstructured.Unstructured) mcfgv1.MachineConfig {
	t.Helper()
	encoded, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	var config mcfgv1.MachineConfig
	if err := yaml.UnmarshalStrict(encoded, &config); err != nil {
		t.Fatal(err)
	}
	return config
}

func pack(t testing.TB, role string, files placement.Files) mcfgv1.MachineConfig {
	t.Helper()
	object, _, err := Pack(role, files)
	if err != nil {
		t.Fatal(err)
	}
	return typed(t, object)
}

func TestWhatIsPackedComesOutAgain(t *testing.T) {
	files := placementtest.Files("cluster.yml", "interfaces: []\n", "master-0.yml", strings.Repeat("# a long one\n", 1000), "odd.yml", "100 % é\x00", "z.yml", "")
	got, err := Unpack([]mcfgv1.MachineConfig{pack(t, "master", files)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got["master"] {
		want, _ := files.Get(f.Name)
		if string(want.Content) != string(f.Content) {
			t.Errorf("%s: got %d bytes, want %d", f.Name, len(f.Content), len(want.Content))
		}
	}
	if len(got["master"]) != len(files) {
		t.Errorf("got %d files", len(got["master"]))
	}
}

func TestMachineConfigsHaveTheShapeThatNodesExpect(t *testing.T) {
	object, _, err := Pack("worker", placementtest.Files("worker-0.yml", "b: 1\n", "cluster.yml", "a: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: worker
  name: 10-br-ex-worker
spec:
  config:
    ignition:
      version: 3.2.0
    storage:
      files:
      - contents:
          compression: ""
          source: data:text/plain;charset=utf-8;base64,YTogMQo=
        mode: 420
        overwrite: true
        path: /etc/nmstate/openshift/cluster.yml
      - contents:
          compression: ""
          source: data:text/plain;charset=utf-8;base64,YjogMQo=
        mode: 420
        overwrite: true
        path: /etc/nmstate/openshift/worker-0.yml
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestIgnitionAcceptsWhatIsPacked(t *testing.T) {
	config := pack(t, "master", placementtest.Files("cluster.yml", "a: 1\n", "master-0.yml", strings.Repeat("a: 1\n", 2000)))
	parsed, report, err := v3_2.Parse(config.Spec.Config.Raw)
	if err != nil || len(report.Entries) > 0 {
		t.Fatalf("%v %s", err, report.String())
	}
	if c := parsed.Storage.Files[1].Contents.Compression; c == nil || *c != "gzip" {
		t.Error("a large file is not compressed")
	}
}

func TestMachineConfigsOfOthersAreRead(t *testing.T) {
	const spec3 = `{ignition: {version: 3.4.0}, storage: {files: [
	  {path: /etc/nmstate/openshift/a.yml, contents: {source: "data:,a%3A%201%0A"}},
	  {path: /etc/nmstate/openshift/sub/b.yml, contents: {source: "data:,b"}},
	  {path: /etc/nmstate/openshift/c.yml, contents: {source: "data:;base64,H4sIAAAAAAAAA0vkAgAYgNX+AgAAAA==", compression: gzip}},
	  {path: /etc/other, contents: {source: "https://example.com/x"}}]}}`
	const spec2 = `{ignition: {version: 2.2.0}, storage: {files: [
	  {filesystem: root, path: /etc/nmstate/openshift/a.yml, contents: {source: "data:text/plain;charset=utf-8;base64,Mgo=", verification: {}}}]}}`
	got, err := Unpack([]mcfgv1.MachineConfig{raw(t, "20-later", "master", spec2), raw(t, "10-first", "master", spec3), raw(t, "99", "worker", spec2), raw(t, "none", "worker", "")})
	if err == nil || !strings.Contains(err.Error(), "MachineConfig 10-first: spec.config.storage.files[2]") {
		t.Errorf("a broken checksum is not reported: %v", err)
	}
	want := map[string]placement.Files{"master": placementtest.Files("a.yml", "2\n"), "worker": placementtest.Files("a.yml", "2\n")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func raw(t *testing.T, name, role, config string) mcfgv1.MachineConfig {
	t.Helper()
	mc := mcfgv1.MachineConfig{}
	mc.Name, mc.Labels = name, map[string]string{RoleLabel: role}
	if config != "" {
		encoded, err := yaml.YAMLToJSON([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		mc.Spec.Config = runtime.RawExtension{Raw: encoded}
	}
	return mc
}

func TestWhatCannotBeReadIsAnErrorThatSaysWhere(t *testing.T) {
	file := func(rest string) string {
		return `{ignition: {version: 3.2.0}, storage: {files: [{path: /etc/nmstate/openshift/a.yml, ` + rest + `}]}}`
	}
	for _, row := range []struct{ why, config, says string }{
		{"a URL to fetch", file(`contents: {source: "https://example.com/a"}`), `scheme "https"`},
		{"broken base64", file(`contents: {source: "data:;base64,%%%"}`), "data URL"},
		{"an unknown compression", file(`contents: {source: "data:,a", compression: zstd}`), "zstd"},
		{"a part of a file", file(`append: [{source: "data:,a"}]`), "adds to a file"},
		{"an unknown specification", `{ignition: {version: 4.0.0}}`, "4.0.0"},
		{"not an object", `[]`, "decode"},
	} {
		if _, err := Unpack([]mcfgv1.MachineConfig{raw(t, "x", "master", row.config)}); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.says)
		}
	}
}

func TestBombsAreRefused(t *testing.T) {
	if _, err := uncompress(compress(make([]byte, placement.MaxFileSize+1))); err == nil {
		t.Error("a file of more than the limit was unpacked")
	}
}

func TestTheLimitOfTheObjectIsSaidWithAWayOut(t *testing.T) {
	// Digests do not compress.
	var files placement.Files
	for i := range 1200 {
		content := make([]byte, 1500)
		state := uint32(i + 1)
		for j := range content {
			state = state*1664525 + 1013904223
			content[j] = byte(state >> 24)
		}
		files = append(files, placement.File{Name: fmt.Sprintf("w-%d.yml", i), Content: content})
	}
	if _, _, err := Pack("worker", files); err == nil || !strings.Contains(err.Error(), "split the hosts") {
		t.Errorf("got %v", err)
	}
}

// What a data URL holds is bounded by the URL, and never a reason to stop the process.
func FuzzDecodeSource(f *testing.F) {
	for _, s := range []string{"", "data:,a%20b", "data:;base64,YQ==", "data:text/plain;charset=utf-8;base64,YQ==", "data:;a=\"b\",c", "http://x", "data:;base64,YQ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got, err := DecodeSource(source)
		if err == nil && len(got) > len(source) {
			t.Errorf("%q holds %d bytes", source, len(got))
		}
	})
}

// hosts returns what a role of n hosts with static addresses has: the document of the announcement of this
// mechanism, once a host.
func hosts(n int) placement.Files {
	var files placement.Files
	for i := range n {
		files = append(files, placement.File{Name: fmt.Sprintf("worker-%d.yml", i), Content: fmt.Appendf(nil, `interfaces:
- name: enp2s0
  type: ethernet
  state: up
  ipv4:
    enabled: false
  ipv6:
    enabled: false
- name: br-ex
  type: ovs-bridge
  state: up
  copy-mac-from: enp2s0
  ipv4:
    enabled: false
    dhcp: false
  ipv6:
    enabled: false
    dhcp: false
  bridge:
    port:
    - name: enp2s0
    - name: br-ex
- name: br-ex
  type: ovs-interface
  state: up
  ipv4:
    enabled: true
    address:
    - ip: "10.20.%d.%d"
      prefix-length: 16
  ipv6:
    enabled: false
    dhcp: false
dns-resolver:
  config:
    server:
    - 10.20.255.1
routes:
  config:
  - destination: 0.0.0.0/0
    next-hop-address: 10.20.255.254
    next-hop-interface: br-ex
`, i/250, i%250+1)})
	}
	return files
}

func TestFiveHundredHostsFitIntoARole(t *testing.T) {
	_, size, err := Pack("worker", hosts(500))
	if err != nil || size > MaxSize/3 {
		t.Errorf("%d bytes, %v; want at most a third of %d", size, err, MaxSize)
	}
}

func BenchmarkMachineConfigOf500Hosts(b *testing.B) {
	files := hosts(500)
	var size int
	for b.Loop() {
		var err error
		if _, size, err = Pack("worker", files); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "B/object")
	b.ReportMetric(float64(size)*100/MaxSize, "%limit")
}

package nmconn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func mustParse(t testing.TB, text string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("d.yml", []byte(text))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

func FuzzGenerate(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.yml")
	for _, in := range inputs {
		data, err := os.ReadFile(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, _ := nmstate.Parse("f", data)
		if doc == nil {
			return
		}
		files, problems := Generate(doc)
		if (files == nil) != problems.HasErrors() {
			t.Fatalf("%d files, %v", len(files), problems)
		}
		seen := map[string]bool{}
		for _, file := range files {
			if seen[file.Name] || filepath.Base(file.Name) != file.Name || strings.ContainsAny(file.Name, "\n\x00") {
				t.Errorf("name %q", file.Name)
			}
			seen[file.Name] = true
			for line := range strings.Lines(strings.TrimSuffix(file.Content, "\n") + "\n") {
				line = strings.TrimSuffix(line, "\n")
				if line != "" && !strings.Contains(line, "=") && !(strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]")) {
					t.Errorf("line %q of\n%s", line, file.Content)
				}
			}
		}
		again, _ := Generate(doc)
		if diff := cmp.Diff(files, again); diff != "" {
			t.Errorf("the second time:\n%s", diff)
		}
	})
}

// BenchmarkGenerate is one host with a bond, a VLAN and br-ex: from the text to the files.
func BenchmarkGenerate(b *testing.B) {
	text := []byte(`interfaces:
- {name: eno1, type: ethernet, state: up, mac-address: "52:54:00:00:00:01", mtu: 9000}
- {name: eno2, type: ethernet, state: up, mtu: 9000}
- {name: bond0, type: bond, state: up, copy-mac-from: eno1, mtu: 9000, link-aggregation: {mode: 802.3ad, options: {miimon: 100, lacp_rate: fast}, port: [eno1, eno2]}}
- {name: bond0.20, type: vlan, state: up, vlan: {base-iface: bond0, id: 20}, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}
- {name: br-ex, type: ovs-bridge, state: up, bridge: {port: [{name: bond0}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}, ipv6: {enabled: false}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1}, {destination: 10.0.0.0/8, next-hop-interface: bond0.20, next-hop-address: 198.51.100.1}]}
dns-resolver: {config: {server: [192.0.2.53, 192.0.2.54], search: [example.org]}}
`)
	b.ReportAllocs()
	for b.Loop() {
		doc, _ := nmstate.Parse("host.yml", text)
		if files, problems := Generate(doc); len(files) != 8 {
			b.Fatal(len(files), problems)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
}

package preboot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/cpiotest"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition/ignitiontest"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
)

// Documents and the files that NMState's generator makes of them; those that begin with err- are invalid.
const golden = "../nmconn/testdata"

func TestDocumentsWithoutOpenVSwitchGiveTheFilesOfNMState(t *testing.T) {
	documents, err := filepath.Glob(golden + "/*.yml")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	for _, path := range documents {
		name := strings.TrimSuffix(filepath.Base(path), ".yml")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rendered, problems := Render(name, data)
		files := rendered.Profiles
		refused := strings.HasPrefix(name, "err-") || strings.Contains(name, "ovs-")
		if refused != problems.HasErrors() || refused != (files == nil) {
			t.Errorf("%s: %d files, %v", name, len(files), problems)
		}
		if strings.HasPrefix(name, "ovs-") && !strings.Contains(problems.Err().Error(), "Open vSwitch is not available before the boot") {
			t.Errorf("%s: the reason is missing: %v", name, problems)
		}
		if refused {
			continue
		}
		same, _ := os.ReadFile(golden + "/" + name + ".json")
		var want struct{ NetworkManager [][2]string }
		if err := json.Unmarshal(same, &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.NetworkManager, pairs(files)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		inImage(t, name, files)
	}
}

// inImage checks that what Ignition would write from a boot image are the very files.
func inImage(t *testing.T, name string, files []nmconn.File) {
	t.Helper()
	text, err := ignition.Marshal(Config(Files{Profiles: files}, nil))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := bootimage.Payload(text, EarlyFiles(Files{Profiles: files})...)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := cpiotest.Unpack(payload)
	if err != nil || len(packed) != 1+len(files) {
		t.Fatal(packed, err)
	}
	config, _, err := ignition.Parse(packed[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	written, err := ignitiontest.Files(config)
	if err != nil {
		t.Fatal(err)
	}
	got := [][2]string{}
	for i, w := range written {
		got = append(got, [2]string{strings.TrimPrefix(w.Path, ProfileDir+"/"), string(w.Content)})
		if w.Mode != 0o600 || packed[i+1].Mode != 0o600 {
			t.Errorf("%s: %s has mode %o, NetworkManager would ignore it", name, w.Path, w.Mode)
		}
	}
	if d := cmp.Diff(pairs(files), got); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func pairs(files []nmconn.File) [][2]string {
	out := [][2]string{}
	for _, f := range files {
		out = append(out, [2]string{f.Name, f.Content})
	}
	return out
}

func TestOneMistakeIsSaidOnce(t *testing.T) {
	for _, c := range []struct{ why, document, path string }{
		{"both packages know that a MAC address is missing", "interfaces: [{name: a, type: dummy, copy-mac-from: eth0}, {name: eth0, type: ethernet}]", "interfaces[0].copy-mac-from"},
		{"an interface that cannot be has no other mistakes", "interfaces: [{name: a, type: ovs-interface, copy-mac-from: eth0}]", "interfaces[0].type"},
		{"a warning about what is refused is no news", "ovs-db: {external_ids: {a: b}}", "ovs-db"},
	} {
		_, problems := Render("x.yml", []byte(c.document))
		if len(problems) != 1 || problems[0].Path != c.path {
			t.Errorf("%s: %v", c.why, problems)
		}
	}
}

func TestAProfileWinsOverTheBaseConfiguration(t *testing.T) {
	base := ignition.Config([]ignition.File{{Path: ProfileDir + "/a.nmconnection", Content: []byte("old")}, {Path: "/etc/kept"}})
	config := Config(Files{Profiles: []nmconn.File{{Name: "a.nmconnection", Content: "new"}}}, &base)
	files, err := ignitiontest.Files(config)
	if err != nil || len(files) != 2 || string(files[1].Content) != "new" {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestAlternativeNamesAreFilesOfUdevInTheImageAndNotBefore(t *testing.T) {
	rendered, problems := Render("d.yml", []byte("interfaces: [{name: eno1, type: ethernet, alt-names: [{name: uplink}]}]"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files, err := ignitiontest.Files(Config(rendered, nil))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if f := files[1]; f.Path != "/etc/systemd/network/98-cno-eno1.link" || f.Mode != 0o644 || !strings.HasSuffix(string(f.Content), "\nAlternativeName=uplink\n") {
		t.Errorf("%s (%o): %s", f.Path, f.Mode, f.Content)
	}
	if early := EarlyFiles(rendered); len(early) != 1 {
		t.Errorf("NetworkManager of the initial file system reads profiles only, and gets %v", early)
	}
}

func BenchmarkDocumentToImage(b *testing.B) {
	data, err := os.ReadFile(golden + "/bond-lacp-static.yml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		files, problems := Render("x", data)
		if problems.HasErrors() {
			b.Fatal(problems)
		}
		text, err := ignition.Marshal(Config(files, nil))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bootimage.Payload(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
}

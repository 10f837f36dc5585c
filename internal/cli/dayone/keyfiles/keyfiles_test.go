package keyfiles

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

const document = `interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}
`

func run(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	cmd := New()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(append([]string{}, args...))
	status = exit.Report(&errOut, "cno", cmd.Execute())
	return status, out.String(), errOut.String()
}

func TestJSONHasTheFormatOfNMState(t *testing.T) {
	status, out, stderr := run(document, "-f", "-", "-o", "json")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	var got struct{ NetworkManager [][]string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got.NetworkManager {
		if len(f) != 2 || !strings.HasPrefix(f[1], "[connection]\n") || !strings.HasSuffix(f[1], "\n") {
			t.Errorf("%q", f)
		}
		names = append(names, f[0])
	}
	if diff := cmp.Diff([]string{"bond0.nmconnection", "eno2.nmconnection", "eno1.nmconnection"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestADocumentWithoutInterfacesHasAnEmptyList(t *testing.T) {
	if status, out, _ := run("interfaces: []", "-f", "-", "-o", "json"); status != exit.OK || out != "{\n  \"NetworkManager\": []\n}\n" {
		t.Errorf("%d %q", status, out)
	}
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etc", "system-connections")
	file := filepath.Join(t.TempDir(), "worker-0.yml")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	// The second run replaces the files and restores the mode of one that others can read.
	for range 2 {
		if status, out, stderr := run("", "-f", file, "--dir", dir); status != exit.OK || out != "" {
			t.Fatal(status, out, stderr)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 3 {
			t.Fatalf("%v, %v", entries, err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, "eno1.nmconnection"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARefusedDocumentHasALineForEachErrorAndNoFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	status, out, stderr := run("interfaces:\n- {name: a, type: vlan, vlan: {id: 5000}}\nroutes: {config: [{destination: 0.0.0.0/0}]}\n", "-f", "-", "--dir", dir)
	if status != exit.Refused || out != "" {
		t.Errorf("%d %q", status, out)
	}
	want := `-:2: interfaces[0].vlan.base-iface: is missing; name the interface that carries the VLAN
-:2: interfaces[0].vlan.id: is 5000; it is at most 4094
-:3: routes.config[0].next-hop-interface: is missing; a route leads to an interface unless it has a route-type
`
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was created: %v", err)
	}
}

func TestInvalidCommandLinesAreUnusable(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"-f", "-", "-o", "xml"},
		{"-f", "-", "-o", "json", "--dir", "x"},
		{"-f", "/does/not/exist"},
		{"-f", "-", "more"},
	} {
		if status, _, stderr := run(document, args...); status != exit.Unusable || stderr == "" {
			t.Errorf("%q: %d %q", args, status, stderr)
		}
	}
}

func TestTextShowsEveryFileUnderItsName(t *testing.T) {
	status, out, _ := run(document, "-f", "-")
	if status != exit.OK || !strings.HasPrefix(out, "# bond0.nmconnection\n[connection]\n") || strings.Count(out, "\n\n# ") != 2 {
		t.Errorf("%d\n%s", status, out)
	}
}

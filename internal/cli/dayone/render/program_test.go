package render

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"sigs.k8s.io/yaml"

	"github.com/coreos/ignition/v2/config/v3_2"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/conflict"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
)

const programImage = "quay.io/cno/host-network@sha256:0123456789abcdef"

func TestMachineConfigReplacesTheStockService(t *testing.T) {
	out, stderr, status := run(t, "", "--as", "machineconfig", "--role", "master", "--host-network-image", programImage, "-f", "testdata/br-ex.yml", "--without-bridge")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	program, documents, two := strings.Cut(out, "---\n")
	if !two || !strings.Contains(documents, "name: 10-br-ex-master") {
		t.Fatalf("there is no second object:\n%s", out)
	}
	var object mcfgv1.MachineConfig
	if err := yaml.Unmarshal([]byte(program), &object); err != nil {
		t.Fatal(err)
	}
	if object.Name != "05-host-network-master" || object.Labels["machineconfiguration.openshift.io/role"] != "master" {
		t.Errorf("%s %v", object.Name, object.Labels)
	}
	config, report, err := v3_2.Parse(object.Spec.Config.Raw)
	if err != nil || len(report.Entries) > 0 {
		t.Fatalf("Ignition: %v %v", err, report)
	}
	// What Ignition would write, on a host on which the stock service is enabled.
	root := t.TempDir()
	units := filepath.Join(root, "etc/systemd/system")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(units, "multi-user.target.wants", hostprogram.StockUnit), "")
	if conflict.Enabled(os.DirFS(root)) == nil {
		t.Fatal("the stock service is not in the way to begin with")
	}
	enabled := map[string]bool{}
	var verify []string
	for _, u := range config.Systemd.Units {
		enabled[u.Name] = u.Enabled != nil && *u.Enabled
		if u.Mask != nil && *u.Mask {
			if err := os.Symlink("/dev/null", filepath.Join(units, u.Name)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path := filepath.Join(units, u.Name)
		write(path, *u.Contents)
		for _, d := range u.Dropins {
			write(filepath.Join(units, u.Name+".d", d.Name), *d.Contents)
		}
		verify = append(verify, path)
	}
	if err := conflict.Enabled(os.DirFS(root)); err != nil {
		t.Errorf("host-network would refuse to run: %v", err)
	}
	if !enabled["host-network.service"] || !enabled["host-network-leases.service"] || enabled["host-network-rollback.service"] || enabled[hostprogram.StockUnit] {
		t.Errorf("enabled are %v", enabled)
	}
	files := map[string]string{}
	for _, f := range config.Storage.Files {
		content, err := machineconfig.DecodeSource(*f.Contents.Source)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Path] = string(content)
	}
	if len(files) != 2 || files["/etc/NetworkManager/conf.d/host-network.conf"] == "" || files[hostprogram.ImageFile] != "IMAGE="+programImage+"\n" {
		t.Errorf("files are %v", files)
	}
	installation, err := os.ReadFile(filepath.Join(units, hostprogram.InstallUnit))
	if err != nil || !strings.Contains(string(installation), "EnvironmentFile="+hostprogram.ImageFile+"\n") || strings.Contains(string(installation), programImage) {
		t.Errorf("%s %v", installation, err)
	}
	// systemd reads each of them; that the programs are not on this machine is no error of a unit.
	errOut, _ := exec.Command("systemd-analyze", append([]string{"verify"}, verify...)...).CombinedOutput()
	for line := range strings.Lines(string(errOut)) {
		if strings.Contains(line, root) && !strings.Contains(line, "is not executable") {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
	if text, err := json.Marshal(object); err != nil || len(text) > 64<<10 {
		t.Errorf("the object has %d bytes, %v", len(text), err)
	}
}

func TestAProgramIsForMachineConfigsAndHasAnImage(t *testing.T) {
	for _, row := range []struct {
		args    []string
		message string
	}{
		{[]string{"--as", "machineconfig", "--role", "master", "--host-network-image", "a b", "-f", "testdata/br-ex.yml", "--without-bridge"}, `--host-network-image: "a b" is not the name of an image`},
		{[]string{"--as", "keyfiles", "--host-network-image", "a", "-f", "testdata/br-ex.yml"}, "--host-network-image is for --as machineconfig"},
	} {
		if _, stderr, status := run(t, "", row.args...); status != exit.Unusable || !strings.Contains(stderr, row.message) {
			t.Errorf("%v: %d %s", row.args, status, stderr)
		}
	}
}

package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition/ignitiontest"
)

// run executes the command and returns its exit status too.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := New()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	status = exit.Report(&errOut, "cno", cmd.Execute())
	return out.String(), errOut.String(), status
}

const profile = "[connection]\nautoconnect=true\nautoconnect-slaves=-1\nid=ens3\ninterface-name=ens3\ntype=802-3-ethernet\nuuid=eb167dc3-77c6-5e5b-94a7-7ca659590917\n\n" +
	"[ipv4]\naddress0=10.0.0.5/24\ndhcp-timeout=2147483647\nmethod=manual\n"

func TestKeyfilesMatchNMStatesGenerator(t *testing.T) {
	out, errOut, status := run(t, "", "--as", "keyfiles", "-f", "testdata/hosts/worker-0.yml")
	if status != exit.OK {
		t.Fatal(errOut)
	}
	var got struct{ NetworkManager [][2]string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.NetworkManager) != 1 || got.NetworkManager[0][0] != "ens3.nmconnection" || !strings.HasPrefix(got.NetworkManager[0][1], profile) {
		t.Error(out)
	}
}

func TestAnIgnitionConfigurationCarriesTheProfiles(t *testing.T) {
	out, errOut, status := run(t, "", "--as", "ignition", "-f", "testdata/hosts/worker-0.yml", "--base", "testdata/base.ign")
	if status != exit.OK || !strings.Contains(errOut, "typo") {
		t.Fatal(status, errOut)
	}
	config, _, err := ignition.Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	files, err := ignitiontest.Files(config)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if f := files[0]; f.Path != "/etc/NetworkManager/system-connections/ens3.nmconnection" || f.Mode != 0o600 || !strings.HasPrefix(string(f.Content), profile) {
		t.Errorf("%+v", f)
	}
	if len(config.Systemd.Units) != 1 {
		t.Error("the base configuration is lost")
	}
}

func TestSecretsAndHostsOfAnInstallConfig(t *testing.T) {
	out, errOut, status := run(t, "", "--as", "secret", "-f", "testdata/install-config.yaml", "--namespace", "machines")
	if status != exit.OK {
		t.Fatal(errOut)
	}
	var secret struct {
		Metadata   struct{ Name, Namespace string }
		StringData map[string]string
	}
	if err := yaml.Unmarshal([]byte(out), &secret); err != nil {
		t.Fatal(err)
	}
	// The second host has no document, and needs no Secret.
	if secret.Metadata.Name != "ostest-master-0-network-config-secret" || secret.Metadata.Namespace != "machines" ||
		!strings.HasPrefix(secret.StringData["nmstate"], "interfaces:\n") || strings.Contains(out, "---") {
		t.Error(out)
	}
	out, errOut, status = run(t, "", "--as", "baremetalhost", "-f", "testdata/install-config.yaml")
	if status != exit.OK || strings.Count(out, "kind: BareMetalHost") != 2 || strings.Count(out, "---\n") != 3 ||
		strings.Count(out, "preprovisioningNetworkDataName: ostest-master-0-network-config-secret") != 1 {
		t.Error(out, errOut)
	}
	if strings.Count(out, "name: ostest-master-0-bmc-secret\n") != 1 || strings.Count(out, "credentialsName: ostest-master-0-bmc-secret") != 1 || strings.Count(out, "username: admin") != 2 {
		t.Errorf("a BareMetalHost names a Secret that does not exist:\n%s", out)
	}
	if out, _, _ := run(t, "", "--as", "secret", "-f", "testdata/install-config.yaml"); strings.Contains(out, "password") {
		t.Error("the password of a management controller is in the Secret of the network")
	}
}

func TestPreBootErrorsAreRefusedInEveryFormat(t *testing.T) {
	for _, as := range words() {
		out, errOut, status := run(t, "", "--as", as, "-f", "testdata/br-ex.yml", "-f", "testdata/hosts/worker-0.yml")
		if status != exit.Refused || out != "" {
			t.Errorf("%s: status %d, %q", as, status, out)
		}
		for _, want := range []string{
			"testdata/br-ex.yml:6: interfaces[1].type: br-ex is of type ovs-bridge: Open vSwitch is not available before the boot",
			"testdata/br-ex.yml:13: interfaces[2].type: br-ex is of type ovs-interface",
		} {
			if !strings.Contains(errOut, want) {
				t.Errorf("%s: %q is missing in\n%s", as, want, errOut)
			}
		}
	}
}

func TestDirectoryHasFilesOfAllHostsReadableByTheOwnerOnly(t *testing.T) {
	for as, want := range map[string][]string{
		"keyfiles":      {"worker-0/ens3.nmconnection", "worker-1/ens3.nmconnection"},
		"ignition":      {"worker-0.ign", "worker-1.ign"},
		"secret":        {"worker-0-network-config-secret.yaml", "worker-1-network-config-secret.yaml"},
		"baremetalhost": {"worker-0.yaml", "worker-1.yaml"},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		out, errOut, status := run(t, "", "--as", as, "-f", "testdata/hosts", "--dir", dir)
		if status != exit.OK || out != "" {
			t.Fatal(out, errOut)
		}
		var got []string
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			got = append(got, name)
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", name, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", as, d)
		}
	}
}

func TestOneHostOfSeveralAndItsName(t *testing.T) {
	out, errOut, status := run(t, "", "--as", "secret", "-f", "testdata/hosts", "--host", "worker-1")
	if status != exit.OK || strings.Count(out, "kind: Secret") != 1 || !strings.Contains(out, "worker-1-network") {
		t.Error(out, errOut)
	}
	document, err := os.ReadFile("testdata/hosts/worker-0.yml")
	if err != nil {
		t.Fatal(err)
	}
	out, errOut, status = run(t, string(document), "--as", "secret", "-f", "-", "--host", "other")
	if status != exit.OK || !strings.Contains(out, "name: other-network-config-secret") {
		t.Error(out, errOut)
	}
}

func TestInvalidArguments(t *testing.T) {
	none := t.TempDir()
	for _, c := range []struct {
		why  string
		args []string
		want string
	}{
		{"no form of that name", []string{"--as", "iso", "-f", "testdata/br-ex.yml"}, "is not one of keyfiles, ignition"},
		{"a missing file", []string{"--as", "secret", "-f", "testdata/none.yml"}, "no such file"},
		{"an empty directory", []string{"--as", "secret", "-f", none}, "no host in"},
		{"a missing host", []string{"--as", "secret", "-f", "testdata/hosts", "--host", "x"}, "no file is for a host with that name"},
		{"standard input of no name", []string{"--as", "secret", "-f", "-"}, "--host must name"},
		{"several configurations in one stream", []string{"--as", "ignition", "-f", "testdata/hosts"}, "and there are 2"},
		{"a base for something else", []string{"--as", "secret", "-f", "testdata/hosts", "--base", "testdata/base.ign"}, "--base cannot be used"},
		{"a base that is none", []string{"--as", "ignition", "-f", "testdata/hosts", "--base", "testdata/br-ex.yml"}, "not an Ignition configuration"},
	} {
		if out, errOut, status := run(t, "", c.args...); status != exit.Unusable || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%s: status %d, %s%s", c.why, status, errOut, out)
		}
	}
	// A name that is in no object may be any.
	document := "interfaces: [{name: eth0, type: ethernet, state: up}]"
	for _, as := range []string{"keyfiles", "ignition"} {
		if out, errOut, status := run(t, document, "--as", as, "-f", "-"); status != exit.OK || !strings.Contains(out, "eth0") {
			t.Errorf("%s of standard input: %s%s", as, out, errOut)
		}
	}
	if _, errOut, status := run(t, document, "--as", "ignition", "-f", "-", "--dir", none); status != exit.Unusable {
		t.Errorf("a file without a name: %s", errOut)
	}
	for why, args := range map[string][]string{
		"a name of no host":         {"--as", "baremetalhost", "-f", "testdata/hosts/worker-0.yml", "--host", "A B"},
		"two documents of one host": {"--as", "secret", "-f", "testdata/hosts", "-f", "testdata/hosts/worker-0.yml"},
		"a name that is none":       {"--as", "secret", "-f", "testdata/hosts/worker-0.yml", "--host", "A B"},
	} {
		if _, errOut, status := run(t, "", args...); status != exit.Refused {
			t.Errorf("%s: status %d, %s", why, status, errOut)
		}
	}
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	_, errOut, status := run(t, "", "--as", "secret", "-f", "testdata/hosts", "--dir", "testdata/br-ex.yml/x")
	if status == exit.OK {
		t.Error(errOut)
	}
	out := output{files: []file{{"../x", nil}}}
	if err := out.write(nil, t.TempDir()); err == nil {
		t.Error("a file was written outside the directory")
	}
	if err := (output{stream: [][]byte{{}}}).write(broken{}, ""); err == nil {
		t.Error("a stream that broke was not noticed")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestOneHostHasTheSameLayoutAsSeveral(t *testing.T) {
	dir := t.TempDir()
	if _, errOut, status := run(t, "", "--as", "keyfiles", "testdata/hosts/worker-0.yml", "--dir", dir); status != exit.OK {
		t.Fatal(errOut)
	}
	if _, err := os.Stat(filepath.Join(dir, "worker-0", "ens3.nmconnection")); err != nil {
		t.Error(err)
	}
}

func TestAlternativeNamesAreWrittenInFormatsWithUdevFiles(t *testing.T) {
	const document = "interfaces:\n- {name: eno1, type: ethernet, state: up, alt-names: [{name: uplink}], ipv4: {enabled: true, dhcp: true}}\n" +
		"- {name: uplink.7, type: vlan, state: up, vlan: {id: 7, base-iface: uplink}, alt-names: [{name: storage}]}\n"
	for _, row := range []struct{ form, contains, message string }{
		{"ignition", "/etc/systemd/network/98-cno-eno1.link", "interfaces[1].alt-names: is left out: before the boot only network cards get alternative names; host-network adds those of uplink.7 at the first boot"},
		{"keyfiles", "parent=eno1", "interfaces[0].alt-names: is left out: a profile of NetworkManager cannot contain it; an Ignition configuration can"},
		{"secret", "alt-names: [{name: uplink}]", "interfaces[0].alt-names: is left out: the boot image that the cluster builds of the Secret cannot contain it"},
		{"kargs", "vlan=uplink.7:eno1", "interfaces[0].alt-names: is left out: the kernel's command line cannot contain it"},
	} {
		out, errOut, status := run(t, document, "--as", row.form, "-f", "-", "--host", "worker-0")
		if status != exit.OK || !strings.Contains(out, row.contains) || !strings.Contains(errOut, "warning: "+row.message) {
			t.Errorf("%s: status %d\n%s\n%s", row.form, status, out, errOut)
		}
	}
}

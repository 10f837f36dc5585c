package dayone_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/diff"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/imports"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/keyfiles"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/render"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/resolve"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/selection"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/validate"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

// directory has the documents of two hosts, and a file of another kind beside them.
type directory struct {
	t   *testing.T
	dir string
}

const document = `interfaces:
- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br-ex, type: ovs-bridge, state: up, copy-mac-from: enp2s0, bridge: {port: [{name: enp2s0}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, state: up, ipv4: {enabled: true, address: [{ip: ADDRESS, prefix-length: 24}]}}
dns-resolver: {config: {server: [192.168.111.1]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.168.111.1, next-hop-interface: br-ex}]}
`

func at(address string) string { return strings.ReplaceAll(document, "ADDRESS", address) }

func newDirectory(t *testing.T) *directory {
	t.Helper()
	f := &directory{t, t.TempDir()}
	f.write("m/master-0.yml", at("192.168.111.110"))
	f.write("m/master-1.yml", at("192.168.111.111"))
	f.write("m/applied", "a marker")
	return f
}

func (f *directory) write(name, content string) {
	f.t.Helper()
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *directory) path(name string) string { return filepath.Join(f.dir, name) }

// call runs a command line in the directory as main does. Arguments that begin with @ are names in the directory.
func (f *directory) call(stdin string, args ...string) (status int, stdout, stderr string) {
	for i, arg := range args {
		if name, ok := strings.CutPrefix(arg, "@"); ok {
			args[i] = f.path(name)
		}
	}
	cmd := dayone.New(render.New(), selection.New(), imports.New(), diff.New(), validate.New(), resolve.New(), keyfiles.New())
	root := &cobra.Command{Use: "cno", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cmd)
	var out, errOut bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	root.SetArgs(append([]string{"dayone"}, args...))
	status = exit.Report(&errOut, "cno", root.Execute())
	return status, out.String(), errOut.String()
}

func TestExitStatusesDistinguishRefusedFromUnusable(t *testing.T) {
	const object = "apiVersion: network.operator.openshift.io/v1\nkind: HostNetworkConfig\nmetadata: {name: w}\nspec: {role: worker, bridge: {uplink: {interface: eno1}}}\n"
	for _, row := range []struct {
		why    string
		stdin  string
		args   []string
		status int
		want   string
	}{
		{"a host's file", "", []string{"select", "--dir", "@m", "--host", "master-0.x.y"}, exit.OK, "master-0.yml: it has the short name"},
		{"no file applies", "", []string{"select", "--dir", "@m", "--host", "other"}, exit.OK, "none: no file is for the host other"},
		{"the content of the file", "", []string{"select", "--dir", "@m", "--host", "master-1", "--show"}, exit.OK, "192.168.111.111"},
		{"a file of an object", object, []string{"select", "-f", "-", "--host", "x", "-o", "json"}, exit.OK, `"rule": "cluster"`},
		{"an empty file", "", []string{"select", "--dir", "@empty", "--host", "a"}, exit.Refused, "a.yml is empty"},
		{"a missing directory", "", []string{"select", "--dir", "@none", "--host", "a"}, exit.Unusable, "no such file"},
		{"neither host nor MAC address", "", []string{"select", "--dir", "@m"}, exit.Unusable, "host mac"},
		{"not a MAC address", "", []string{"select", "--dir", "@m", "--mac", "x"}, exit.Unusable, "--mac"},

		{"valid documents", "", []string{"validate", "--dir", "@m"}, exit.OK, ""},
		{"the same by -f", "", []string{"validate", "-f", "@m"}, exit.OK, ""},
		{"an address outside the machine networks", "", []string{"validate", "--dir", "@m", "--machine-network", "10.0.0.0/8"}, exit.Refused, "master-0.yml:4: interfaces[2].ipv4.address[0].ip"},
		{"a virtual address", "", []string{"validate", "--dir", "@m", "--vip", "192.168.111.110", "-o", "json"}, exit.Refused, `"valid": false`},
		{"a network that needs no bridge", "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]", []string{"validate", "-f", "-", "--without-bridge"}, exit.OK, ""},
		{"a network that needs a bridge", "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]", []string{"validate", "-f", "-"}, exit.Refused, "no ovs-bridge br-ex"},
		{"an object", object, []string{"validate", "-f", "-"}, exit.OK, ""},
		{"an unknown field of one", strings.Replace(object, "bridge", "bridges", 1), []string{"validate", "-f", "-"}, exit.Refused, "bridges"},
		{"an object of another kind", "apiVersion: v1\nkind: Pod\n", []string{"validate", "-f", "-"}, exit.Unusable, "kind Pod"},
		{"not a network", "", []string{"validate", "--dir", "@m", "--machine-network", "x"}, exit.Unusable, "--machine-network"},

		{"no difference", "", []string{"diff", "@m", "@m", "--exit-code"}, exit.OK, "no difference"},
		{"names of documents do not matter", "", []string{"diff", "@m/master-0.yml", "@m/master-1.yml"}, exit.OK, "interface br-ex (ovs-interface)\n  - address 192.168.111.110/24\n  + address 192.168.111.111/24\n"},
		{"the exit status of a difference", "", []string{"diff", "@m/master-0.yml", "@m/master-1.yml", "--exit-code"}, exit.Refused, "address"},
		{"a removed file", "", []string{"diff", "@m", "@m/master-0.yml", "-o", "json"}, exit.OK, `"change": "removed"`},
		{"not a document", "interfaces: 5", []string{"diff", "@m", "-"}, exit.Refused, "interfaces"},

		{"a role is needed", "", []string{"render", "--as", "machineconfig", "-f", "@m"}, exit.Unusable, "--role"},
		{"a file that no host selects", "", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "@odd"}, exit.Refused, "for no host"},
		{"a document that validate refuses", "interfaces: []", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "-"}, exit.Refused, "interfaces: there is no ovs-bridge"},
		{"--allow-unsound", "interfaces: []", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "-", "--allow-unsound"}, exit.OK, "warning: interfaces: there is no ovs-bridge"},
		{"--allow-unsound and a document that cannot be read", "interfaces: 5", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "-", "--allow-unsound"}, exit.Refused, "interfaces"},
		{"--allow-unsound and a file that no host selects", "", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "@odd", "--allow-unsound"}, exit.Refused, "for no host"},
		{"a network without the bridge", "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]",
			[]string{"render", "--as", "machineconfig", "--role", "worker", "-f", "-", "--without-bridge"}, exit.OK, "10-br-ex-worker"},
		{"--allow-unsound with another form", document, []string{"render", "--as", "secret", "-f", "-", "--allow-unsound"}, exit.Unusable, "--allow-unsound"},
		{"--host with a MachineConfig", "", []string{"render", "--as", "machineconfig", "--role", "master", "-f", "@m", "--host", "a"}, exit.Unusable, "--host"},
		{"a Secret of an object without hosts", object + "  \n", []string{"render", "--as", "secret", "-f", "-"}, exit.Unusable, "no host"},

		{"a MachineConfig without documents", "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\nspec: {config: {ignition: {version: 3.2.0}}}\n", []string{"import", "-f", "-"}, exit.Unusable, "no host network configuration"},
		{"a file with a URL", "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\nspec: {config: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/nmstate/openshift/a.yml, contents: {source: 'https://x'}}]}}}\n",
			[]string{"import", "-f", "-"}, exit.Refused, "scheme"},
		{"a path outside the directory", "", []string{"import", "-f", "@away.yaml", "--dir", "@out"}, exit.Unusable, "not a name below"},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := newDirectory(t)
			f.write("empty/a.yml", "")
			f.write("odd/A_B.yml", document)
			f.write("away.yaml", "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a, labels: {machineconfiguration.openshift.io/role: ../..}}\n"+
				"spec: {config: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/nmstate/openshift/a.yml, contents: {source: 'data:,a'}}]}}}\n")
			status, stdout, stderr := f.call(row.stdin, row.args...)
			if status != row.status || !strings.Contains(stdout+stderr, row.want) {
				t.Errorf("status %d, printed\n%s%s\nwant %d, %q", status, stdout, stderr, row.status, row.want)
			}
		})
	}
}

func TestRenderedDocumentsAreImportedUnchanged(t *testing.T) {
	f := newDirectory(t)
	status, object, stderr := f.call("", "render", "--as", "machineconfig", "--role", "master", "-f", "@m")
	if status != exit.OK || stderr != "" {
		t.Fatal(stderr)
	}
	if status, _, stderr := f.call(object, "import", "-f", "-", "--dir", "@out"); status != exit.OK {
		t.Fatal(stderr)
	}
	for _, name := range []string{"master-0.yml", "master-1.yml"} {
		want, err := os.ReadFile(f.path("m/" + name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.path("out/master/" + name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestAnImportedObjectIsEquivalent(t *testing.T) {
	f := newDirectory(t)
	_, object, _ := f.call("", "render", "--as", "machineconfig", "--role", "master", "-f", "@m")
	status, config, stderr := f.call(object, "import", "-f", "-", "-o", "hostnetworkconfig")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	f.write("config.yaml", config)
	if status, out, stderr := f.call("", "diff", "@m", "@config.yaml", "--exit-code"); status != exit.OK {
		t.Error(out, stderr)
	}
}

func TestInstallConfigHasDocumentsAndFacts(t *testing.T) {
	f := newDirectory(t)
	f.write("install-config.yaml", `apiVersion: v1
baseDomain: test.metalkube.org
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
platform:
  baremetal:
    apiVIPs: [192.168.111.5]
    hosts:
    - name: master-0
      role: master
      bootMACAddress: 00:d7:a3:95:42:1f
      networkConfig:
        interfaces:
        - {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.168.111.99, prefix-length: 24}]}}
`)
	status, out, stderr := f.call("", "validate", "-f", "@install-config.yaml", "-f", "@m")
	if status != exit.Refused || !strings.Contains(out, "is booted with [192.168.111.99] and has [192.168.111.110] afterwards") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
	f.write("m/master-2.yml", at("192.168.111.5"))
	if _, out, _ := f.call("", "validate", "-f", "@install-config.yaml", "-f", "@m"); !strings.Contains(out, "192.168.111.5 is a virtual address") {
		t.Error(out)
	}
	status, out, stderr = f.call("", "import", "-f", "@install-config.yaml", "-o", "hostnetworkconfig")
	if status != exit.OK || !strings.Contains(out, "- PreBoot") || !strings.Contains(out, "192.168.111.99") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
}

func TestThisHostCanBeDescribed(t *testing.T) {
	f := newDirectory(t)
	status, out, stderr := f.call("", "import", "--live", "--ovsdb", "@none")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	f.write("live.yml", out)
	if status, _, stderr := f.call("", "diff", "@live.yml", "@live.yml", "--exit-code"); status != exit.OK {
		t.Errorf("the imported document cannot be read: %s", stderr)
	}
}

func TestProblemsAreJSONForTools(t *testing.T) {
	f := newDirectory(t)
	_, out, _ := f.call("interfaces: [{nam: a}]", "validate", "-f", "-", "-o", "json")
	var got struct {
		Valid    bool
		Problems []struct {
			File, Path, Message string
			Line                int
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Valid || len(got.Problems) == 0 || got.Problems[0].Line != 1 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestADocumentCannotBeImportedOrSelectedFrom(t *testing.T) {
	f := newDirectory(t)
	f.write("broken.yml", "a: [")
	for _, args := range [][]string{
		{"import", "-f", "@m/master-0.yml"}, {"import", "-f", "@broken.yml"},
		{"select", "-f", "@m/master-0.yml", "--host", "master-0"}, {"select", "-f", "@broken.yml", "--host", "x"},
	} {
		if status, out, _ := f.call("", args...); status != exit.Refused || out != "" {
			t.Errorf("%q: status %d, %q", args, status, out)
		}
	}
}

func TestValidateSummarizesValidInput(t *testing.T) {
	f := newDirectory(t)
	status, out, _ := f.call("", "validate", "--dir", "@m", "--role", "master")
	if status != exit.OK || !strings.HasSuffix(out, "valid: 2 hosts, 1 phase (FirstBoot), 0 warnings\n") {
		t.Errorf("status %d, %q", status, out)
	}
	if status, _, _ := f.call("", "validate", "@m/master-0.yml"); status != exit.OK {
		t.Errorf("a file without -f: status %d", status)
	}
	if status, _, _ := f.call("", "validate"); status == exit.OK {
		t.Error("validate succeeds without a file")
	}
}

// preBoot is a HostNetworkConfig for the time before the boot of one host.
func preBoot(name, machine, address string) string {
	return strings.NewReplacer("NAME", name, "MACHINE", machine, "ADDRESS", address).Replace(`apiVersion: network.operator.openshift.io/v1
kind: HostNetworkConfig
metadata: {name: before-NAME}
spec:
  role: master
  phases: [PreBoot]
  hosts:
  - name: NAME
    bareMetalHost: MACHINE
    desiredState:
      interfaces:
      - {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: ADDRESS, prefix-length: 24}]}}
`)
}

func TestPreBootDocumentIsThatOfTheNodeNotOfItsMachine(t *testing.T) {
	f := newDirectory(t)
	for _, c := range []struct {
		why, name, machine, address string
		status                      int
		want                        string
	}{
		{"another address than before", "master-0", "rack-7", "192.168.111.120", exit.Refused, "master-0.yml:2: interfaces: the host is booted with [192.168.111.120] and has [192.168.111.110] afterwards"},
		{"a machine with the name of another node", "master-2", "master-0", "192.168.111.120", 0, "valid: 3 hosts, 2 phases (PreBoot, FirstBoot), 0 warnings"},
		{"one host, two names", "master-0", "rack-7", "192.168.111.110", 0, "valid: 2 hosts, 2 phases (PreBoot, FirstBoot), 0 warnings"},
	} {
		f.write("before.yaml", preBoot(c.name, c.machine, c.address))
		status, stdout, stderr := f.call("", "validate", "--dir", f.path("m"), "-f", f.path("before.yaml"), "--role", "master")
		if status != c.status || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: status %d\n%s%s\nwant %s", c.why, status, stdout, stderr, c.want)
		}
	}
	f.write("before.yaml", preBoot("master-0", "rack-7", "192.168.111.110"))
	for _, c := range []struct{ args, want string }{
		{"render --as secret -f", "name: rack-7-network-config-secret"}, {"import -o hostnetworkconfig -f", "bareMetalHost: rack-7"},
	} {
		status, stdout, stderr := f.call("", append(strings.Fields(c.args), f.path("before.yaml"))...)
		if status != 0 || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: status %d\n%s%s\nwant %s", c.args, status, stdout, stderr, c.want)
		}
	}
}

func TestTwoHostsWithOneAddressBeforeTheBootAreRefusedWithBothPlaces(t *testing.T) {
	f := newDirectory(t)
	f.write("a.yaml", preBoot("master-0", "rack-7", "192.168.111.110"))
	f.write("b.yaml", "# the second\n---\n"+preBoot("master-1", "rack-8", "192.168.111.110"))
	f.write("install-config.yaml", `apiVersion: v1
baseDomain: test.metalkube.org
platform:
  baremetal:
    hosts:
    - name: master-1
      networkConfig:
        interfaces:
        - name: eno1
          type: ethernet
          state: up
          ipv4:
            enabled: true
            address: [{ip: 192.168.111.110, prefix-length: 24}]
`)
	const says = "192.168.111.110 is the address of enp2s0 of master-0 before its boot (%s/a.yaml:8); give each host a different one"
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"@a.yaml", "@b.yaml"}, "%s/b.yaml:10: spec.hosts[0]: interfaces[0].ipv4.address[0].ip: " + says},
		{[]string{"@a.yaml", "@install-config.yaml"}, "%s/install-config.yaml:14: platform.baremetal.hosts[0].networkConfig.interfaces[0].ipv4.address[0].ip: " + says},
		{[]string{"@m", "@b.yaml"}, "%s/b.yaml:10: spec.hosts[0]: interfaces[0].ipv4.address[0].ip: 192.168.111.110 is the address of br-ex in master-0.yml (line 4); give each host a different one"},
	} {
		args := []string{"validate"}
		for _, file := range c.files {
			args = append(args, "-f", file)
		}
		status, out, stderr := f.call("", args...)
		want := strings.ReplaceAll(c.want, "%s", f.dir)
		if status != exit.Refused || !strings.Contains(out, want+"\n") {
			t.Errorf("%v: status %d\n%s%s\nwant %s", c.files, status, out, stderr, want)
		}
	}
}

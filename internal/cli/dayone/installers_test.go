package dayone_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

const agentConfig = `apiVersion: v1beta1
kind: AgentConfig
hosts:
- hostname: master-0
  interfaces: [{name: up0, macAddress: "52:54:00:aa:00:01"}]
  networkConfig:
    interfaces: [{name: up0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]
- hostname: master-1
  interfaces: [{name: up0, macAddress: "52:54:00:aa:00:02"}]
  networkConfig:
    interfaces: [{name: up0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.11, prefix-length: 24}]}}]
`

func TestTheInputOfInstallersIsReadByEverySubcommand(t *testing.T) {
	f := newDirectory(t)
	f.write("agent-config.yaml", agentConfig)
	f.write("table.yaml", strings.ReplaceAll(agentConfig, "52:54:00:aa:00:02", "52:54:00:aa:00:01"))
	for _, row := range []struct {
		why    string
		args   []string
		status int
		has    string
	}{
		{"valid", []string{"validate", "@agent-config.yaml"}, exit.OK, "valid: 2 hosts, 1 phase (PreBoot), 0 warnings"},
		{"a duplicate MAC address", []string{"validate", "@table.yaml"}, exit.Refused, "hosts[1].interfaces[0].macAddress: 52:54:00:aa:00:01 is that of hosts[0].interfaces[0] already"},
		{"keyfiles of a host", []string{"keyfiles", "@agent-config.yaml", "--host", "master-1"}, exit.OK, "mac-address=52:54:00:AA:00:02"},
		{"keyfiles without a host", []string{"keyfiles", "@agent-config.yaml"}, exit.Unusable, "name one with --host: master-0, master-1"},
		{"a document and --host", []string{"keyfiles", "@m/master-0.yml", "--host", "x"}, exit.Unusable, "--host cannot be used"},
		{"kernel arguments of a host", []string{"render", "--as", "kargs", "--host", "master-0", "@agent-config.yaml"}, exit.OK, "ifname=up0:52:54:00:aa:00:01 ip=192.0.2.10:::24:master-0:up0:none\n"},
		{"kernel arguments without a host", []string{"render", "--as", "kargs", "@agent-config.yaml"}, exit.Unusable, "the kernel arguments of one host"},
		{"a document that kernel arguments cannot express", []string{"render", "--as", "kargs", "@m/master-0.yml"}, exit.Refused, "Open vSwitch is not available before the boot"},
		{"a BareMetalHost", []string{"render", "--as", "baremetalhost", "--host", "master-0", "@agent-config.yaml"}, exit.OK, "bootMACAddress: 52:54:00:aa:00:01"},
		{"extracted documents", []string{"import", "-f", "@agent-config.yaml"}, exit.OK, "# preboot/master-1.yml"},
	} {
		status, out, stderr := f.call("", row.args...)
		if status != row.status || !strings.Contains(out+stderr, row.has) {
			t.Errorf("%s: status %d\n%s%s", row.why, status, out, stderr)
		}
	}
	if status, _, stderr := f.call("", "render", "--as", "kargs", "@agent-config.yaml", "--dir", "@kargs"); status != exit.OK {
		t.Fatal(stderr)
	}
	if text, err := os.ReadFile(f.path("kargs/master-1.kargs")); err != nil || !strings.HasSuffix(string(text), "up0:none\n") {
		t.Errorf("%q %v", text, err)
	}
}

func TestPoliciesOfARunningClusterReachOneNodeAtATime(t *testing.T) {
	f := newDirectory(t)
	f.write("c/cluster.yml", strings.ReplaceAll(document, "enabled: true, address: [{ip: ADDRESS, prefix-length: 24}]", "enabled: true, dhcp: true"))
	f.write("p/cluster.yml", uplinkPolicy)
	f.write("both/cluster.yml", uplinkPolicy)
	f.write("both/worker-0.yml", uplinkPolicy)
	status, out, stderr := f.call("", "render", "--as", "nncp", "@m")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	first, second, ok := strings.Cut(out, "---\n")
	if !ok {
		t.Fatal(out)
	}
	var got struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			NodeSelector   map[string]string
			MaxUnavailable int
			Capture        map[string]string
			DesiredState   struct{ Interfaces []struct{ Name string } }
		}
	}
	if err := yaml.Unmarshal([]byte(first), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "NodeNetworkConfigurationPolicy" || got.Metadata.Name != "host-network-master-0" || got.Spec.NodeSelector["kubernetes.io/hostname"] != "master-0" ||
		got.Spec.MaxUnavailable != 1 || len(got.Spec.DesiredState.Interfaces) != 3 || !strings.Contains(second, "192.168.111.111") {
		t.Errorf("%+v\n%s", got, out)
	}
	for _, row := range []struct {
		why    string
		args   []string
		status int
		has    string
	}{
		{"a role", []string{"@c", "--role", "worker"}, exit.OK, `node-role.kubernetes.io/worker: ""`},
		{"captures", []string{"@p", "--role", "worker", "--without-bridge"}, exit.OK, "  capture:\n    default: "},
		{"missing role", []string{"@c"}, exit.Unusable, "--role must name the role"},
		{"a file for all other hosts", []string{"@both", "--role", "worker", "--without-bridge"}, exit.Refused, "which a nodeSelector cannot express"},
		{"an invalid document", []string{"@both", "--role", "worker"}, exit.Refused, "br-ex"},
		{"--host", []string{"@m", "--host", "master-0"}, exit.Unusable, "--base and --host cannot be used with --as nncp"},
	} {
		status, out, stderr := f.call("", append([]string{"render", "--as", "nncp"}, row.args...)...)
		if status != row.status || !strings.Contains(out+stderr, row.has) {
			t.Errorf("%s: status %d\n%s%s", row.why, status, out, stderr)
		}
	}
}

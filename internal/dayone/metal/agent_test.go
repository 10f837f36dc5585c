package metal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

const agentInput = `apiVersion: v1beta1
kind: AgentConfig
rendezvousIP: 192.168.111.110
hosts:
- hostname: master-0
  role: master
  rootDeviceHints: {deviceName: /dev/sda}
  interfaces:
  - {name: eth0, macAddress: 52:54:00:AA:00:01}
  - {name: eth1, macAddress: 52:54:00:aa:00:02}
  - {name: unused, macAddress: 52:54:00:aa:00:03}
  networkConfig:
    interfaces:
    - name: bond0 # of both cards
      type: bond
      state: up
      link-aggregation: {mode: active-backup, port: [eth0, eth1]}
    - name: eth0
      type: ethernet
      state: up
- interfaces: [{name: eth0, macAddress: 52:54:00:aa:00:11}]
`

func TestTheTableOfAnAgentConfigFindsItsCards(t *testing.T) {
	hosts, problems := Hosts("agent-config.yaml", []byte(agentInput))
	if len(problems) > 0 || len(hosts) != 2 {
		t.Fatalf("%d hosts, %v", len(hosts), problems)
	}
	if h := hosts[1]; h.Name != "52-54-00-aa-00-11" || h.Document != nil || h.Machine.BootMACAddress != "52:54:00:aa:00:11" {
		t.Errorf("a host without a name is %+v", h)
	}
	h := hosts[0]
	if h.Role != "master" || h.Machine.RootDevice["deviceName"] != "/dev/sda" || h.Machine.BootMACAddress != "52:54:00:aa:00:01" {
		t.Errorf("%+v", h.Machine)
	}
	want := `interfaces:
  - name: bond0 # of both cards
    type: bond
    state: up
    link-aggregation: {mode: active-backup, port: [eth0, eth1]}
  - name: eth0
    type: ethernet
    state: up
    mac-address: 52:54:00:AA:00:01
    identifier: mac-address
  - name: eth1
    type: ethernet
    state: up
    mac-address: 52:54:00:AA:00:02
    identifier: mac-address
`
	if diff := cmp.Diff(want, string(h.Document)); diff != "" {
		t.Error(diff)
	}
	files, problems := preboot.Render("x", h.Document)
	if err := problems.Err(); err != nil || len(files.Profiles) != 3 {
		t.Errorf("%v %v", files, err)
	}
	for _, f := range files.Profiles {
		if f.Name == "eth0.nmconnection" && (strings.Contains(f.Content, "interface-name") || !strings.Contains(f.Content, "mac-address=52:54:00:AA:00:01")) {
			t.Errorf("the card is not found by its address:\n%s", f.Content)
		}
	}
}

const nmStateInput = `# two hosts
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: worker-0, labels: {infraenv: a}}
spec:
  interfaces: [{name: eno1, macAddress: 52:54:00:aa:00:01}]
  config:
    interfaces:
    - &card {name: eno1, type: ethernet, state: up, mac-address: 52:54:00:aa:00:01, ipv5: {}}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: worker-1}
spec:
  interfaces: [{name: eno1, macAddress: 52:54:00:aa:00:11}, {name: eno2, macAddress: 52:54:00:aa:00:12}]
  config:
    interfaces:
    - {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {primary: eno1}, port: [eno1, eno2]}}
    - {name: eno2, type: ethernet, state: up, mac-address: 52:54:00:aa:00:99}
---
kind: InfraEnv
`

func TestNMStateConfigsOfOneFileAreHosts(t *testing.T) {
	hosts, problems := Hosts("n.yaml", []byte(nmStateInput))
	if err := problems.Err(); err != nil || len(hosts) != 2 || hosts[0].Name != "worker-0" || hosts[1].Name != "worker-1" {
		t.Fatalf("%v %v", hosts, err)
	}
	_, wrong := preboot.Parse("x", hosts[0].Document)
	if err := hosts[0].Locate(wrong).Err(); err == nil || !strings.Contains(err.Error(), "n.yaml:9: spec.config.interfaces[0].ipv5: is not known") {
		t.Errorf("the problem is at %v", err)
	}
	if strings.Contains(string(hosts[1].Document), "identifier") {
		t.Errorf("cards whose name matters are found by it:\n%s", hosts[1].Document)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	for _, want := range []string{"n.yaml:18: warning: spec.config: names eno1 where", "n.yaml:19: warning: spec.config: gives eno2 another MAC address", `n.yaml:21: warning: has an object of kind "InfraEnv"`} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

func TestErrorsOfATableAreReportedTogether(t *testing.T) {
	_, problems := Hosts("a.yaml", []byte(`kind: AgentConfig
hosts:
- hostname: a
  interfaces:
  - {name: eth0, macAddress: x}
  - {name: eth1, macAddress: 52:54:00:aa:00:01}
  - {name: eth1, macAddress: 52:54:00:aa:00:02}
- hostname: b
  interfaces: [{name: eth0, macAddress: 52:54:00:AA:00:01}]
- hostname: a
- {}
- hostname: c
  networkConfig: text
---
kind: NMStateConfig
metadata: {name: n}
spec: {config: {interfaces: []}}
`))
	all := problems.Err().Error()
	for _, want := range []string{
		`a.yaml:5: hosts[0].interfaces[0].macAddress: "x" is not a MAC address`,
		`hosts[0].interfaces[2].name: "eth1" is written twice`,
		`hosts[1].interfaces[0].macAddress: 52:54:00:aa:00:01 is that of hosts[0].interfaces[1] already`,
		`hosts[2].hostname: "a" is the name of the host on line 3 already`,
		`hosts[3].hostname: "" cannot be the name`,
		`hosts[4].networkConfig: is not a document`,
		`spec.interfaces: is empty`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	for _, text := range []string{"kind: AgentConfig", "kind: AgentConfig\nhosts: {}", "kind: NMStateConfig", "kind: NMStateConfig\nspec: {interfaces: 1, config: [1]}", "kind: [NMStateConfig]", "interfaces: []", "kind: &a AgentConfig\nhosts: [*a]", "\t"} {
		if IsInput([]byte(text)) {
			Hosts("x", []byte(text)) // does not panic
		}
	}
}

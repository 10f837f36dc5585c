package metal

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

func yamlOf(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestTheSecretHoldsTheDocumentAsItWasWritten(t *testing.T) {
	secret, err := Secret(Host{Name: "worker-0", Document: []byte("# by hand\ninterfaces: []\n")}, Namespace)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
kind: Secret
metadata:
  name: worker-0-network-config-secret
  namespace: openshift-machine-api
stringData:
  nmstate: |
    # by hand
    interfaces: []
type: Opaque
`
	if d := cmp.Diff(want, yamlOf(t, secret)); d != "" {
		t.Error(d)
	}
}

func TestTheHostOfADocumentNamesItsSecretAndNothingElse(t *testing.T) {
	host, err := BareMetalHost(Host{Name: "worker-0", Document: []byte("interfaces: []")}, "machines")
	if err != nil {
		t.Fatal(err)
	}
	// A key more, online for one, would change the machine this is applied to.
	const want = `apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: worker-0
  namespace: machines
spec:
  preprovisioningNetworkDataName: worker-0-network-config-secret
`
	if d := cmp.Diff(want, yamlOf(t, host.Object)); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotBeAnObjectIsRefused(t *testing.T) {
	for _, c := range []struct {
		why  string
		host Host
		want string
	}{
		{"no name", Host{Document: []byte("x")}, "cannot be the name"},
		{"a name in capitals", Host{Name: "Worker", Document: []byte("x")}, "cannot be the name"},
		{"a name that the Secret's suffix makes too long", Host{Name: strings.Repeat("a", 240), Document: []byte("x")}, "leaves it 231"},
		{"no document", Host{Name: "a"}, "has no document"},
		{"a document larger than a Secret", Host{Name: "a", Document: make([]byte, maxSecret+1)}, "a Secret holds"},
	} {
		if _, err := Secret(c.host, Namespace); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	if _, err := BareMetalHost(Host{Name: "a/b"}, Namespace); err == nil {
		t.Error("a host named a/b was made")
	}
}

func TestHostsOfAnInstallConfig(t *testing.T) {
	data, err := os.ReadFile("testdata/install-config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !IsInstallConfig(data) || IsInstallConfig([]byte("interfaces: []")) || IsInstallConfig([]byte("a: [")) {
		t.Error("an install-config is not distinguished from a document")
	}
	hosts, problems := FromInstallConfig("install-config.yaml", data)
	if len(problems) > 0 || len(hosts) != 2 {
		t.Fatalf("%d hosts, %v", len(hosts), problems)
	}
	master, worker := hosts[0], hosts[1]
	if master.Role != "master" || worker.Document != nil {
		t.Errorf("%+v", hosts)
	}
	if !strings.Contains(string(master.Document), "# the address that DNS has") {
		t.Errorf("a comment is lost:\n%s", master.Document)
	}
	if _, problems := preboot.Parse("x", master.Document); problems.HasErrors() {
		t.Error(problems)
	}
	object, err := BareMetalHost(master, Namespace)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: ostest-master-0
  namespace: openshift-machine-api
spec:
  bmc:
    address: redfish-virtualmedia+http://192.168.111.1:8000/redfish/v1/Systems/fd0e728a-4c10-40e4-807a-fab5b055de78
    credentialsName: ostest-master-0-bmc-secret
  bootMACAddress: 00:d7:a3:95:42:1f
  bootMode: UEFI
  hardwareProfile: default
  online: true
  preprovisioningNetworkDataName: ostest-master-0-network-config-secret
  rootDeviceHints:
    deviceName: /dev/sda
`
	if d := cmp.Diff(want, yamlOf(t, object.Object)); d != "" {
		t.Error(d)
	}
	object, err = BareMetalHost(worker, Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if text := yamlOf(t, object.Object); strings.Contains(text, "preprovisioning") || !strings.Contains(text, "disableCertificateVerification: true") {
		t.Error(text)
	}
}

func TestProblemsAreToldWhereTheyAreInTheInstallConfig(t *testing.T) {
	const data = `platform:
  baremetal:
    hosts:
    - name: a
      networkConfig:
        interfaces:
        - name: br-ex
          type: ovs-bridge
        - name: eth0
          mtuu: 3
    - name: a
    - name: B
    - name: c
      networkConfig: |
        interfaces: []
    - [d]
    - name: e
      networkConfig: null
`
	hosts, problems := FromInstallConfig("ic", []byte(data))
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
		if h.Document != nil {
			_, wrong := preboot.Parse("", h.Document)
			problems = append(problems, h.Locate(wrong)...)
		}
	}
	if d := cmp.Diff([]string{"a", "e"}, names); d != "" {
		t.Error(d)
	}
	var got []string
	for _, p := range problems.Sorted() {
		line, _, _ := strings.Cut(p.String(), ": ")
		got = append(got, line+" "+p.Path)
	}
	want := []string{
		"ic:10 platform.baremetal.hosts[0].networkConfig.interfaces[1].mtuu",
		"ic:11 platform.baremetal.hosts[1].name",
		"ic:12 platform.baremetal.hosts[2].name",
		"ic:14 platform.baremetal.hosts[3].networkConfig",
		"ic:16 platform.baremetal.hosts[4]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s\n%v", d, problems)
	}
	h := Host{}
	if got := h.Locate(nmstate.Problems{{Line: 3}}); got[0].Line != 3 {
		t.Errorf("a document of its own keeps its lines: %v", got)
	}
}

func TestPartsOfAnInstallConfigMayBeShared(t *testing.T) {
	const data = `x-dns: &dns
  config: {server: [192.0.2.1]}
platform:
  baremetal:
    hosts:
    - name: a
      rootDeviceHints: {minSizeGigabytes: 20}
      networkConfig:
        interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]
        dns-resolver: *dns
`
	hosts, problems := FromInstallConfig("ic", []byte(data))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	doc, problems := preboot.Parse("", hosts[0].Document)
	if problems.HasErrors() || doc.DNS == nil {
		t.Errorf("%v:\n%s", problems, hosts[0].Document)
	}
	object, err := BareMetalHost(hosts[0], Namespace)
	if err != nil {
		t.Fatal(err)
	}
	// Objects with other types of numbers panic when they are copied.
	object.DeepCopy()
}

func FuzzInstallConfig(f *testing.F) {
	f.Add([]byte("platform: {baremetal: {hosts: [{name: a, networkConfig: {interfaces: [{name: b}]}}]}}"))
	f.Add([]byte("a: &x {b: *x}\nplatform: *x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		hosts, _ := FromInstallConfig("x", data)
		for _, h := range hosts {
			if CheckName(h.Name) != "" {
				t.Errorf("%q passed", h.Name)
			}
			h.Locate(nmstate.Problems{{Path: "interfaces[0].ipv4"}})
		}
		IsInstallConfig(data)
	})
}

package validate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

const network = `apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 24}]
  serviceNetwork: [10.96.0.0/16]
  defaultNetwork: {type: Flannel}
`

func validate1(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	cmd := New(pipeline.Pipeline{Registry: networks.Registry()})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(append([]string{}, args...))
	status = exit.Report(&errOut, "cno", cmd.Execute())
	return status, out.String(), errOut.String()
}

func TestValidConfigurationIsReportedAsValid(t *testing.T) {
	status, out, _ := validate1(network, "-f", "-")
	if status != exit.OK || out != "valid\n" {
		t.Errorf("status %d, %q", status, out)
	}
	status, out, _ = validate1(network, "-f", "-", "-o", "json")
	if want := "{\n  \"valid\": true,\n  \"errors\": []\n}\n"; status != exit.OK || out != want {
		t.Errorf("status %d, %s", status, cmp.Diff(want, out))
	}
}

func TestPublicAddressesAreValidWithAWarning(t *testing.T) {
	status, out, _ := validate1(strings.Replace(network, "10.96.0.0/16", "11.0.0.0/16", 1), "-f", "-")
	if status != exit.OK || !strings.HasPrefix(out, "warning: -: spec.serviceNetwork[0]: 11.0.0.0/16 are public addresses") || !strings.HasSuffix(out, "\nvalid\n") {
		t.Errorf("status %d, %s", status, out)
	}
}

func TestAllProblemsAreShownAtOnceWithFieldValueAndRule(t *testing.T) {
	bad := strings.NewReplacer("10.244.0.0/16", "10.244.0.5/16", "hostPrefix: 24", "hostPrefix: 31",
		"10.96.0.0/16", "10.96.0/16", "{type: Flannel}", "{type: Flannle}", "name: cluster", "name: mine").Replace(network)
	status, out, stderr := validate1(bad, "-f", "-", "-o", "json")
	if status != exit.Refused {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var a findings
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	got := map[string]offline.Problem{}
	for _, p := range a.Errors {
		got[p.Rule] = p
	}
	for rule, want := range map[string]offline.Problem{
		"name":             {Field: "metadata.name", Value: "mine", Message: `must be "cluster"`},
		"cidr-host-bits":   {Field: "spec.clusterNetwork[0].cidr", Value: "10.244.0.5/16", Message: "did you mean 10.244.0.0/16?"},
		"hostprefix-range": {Field: "spec.clusterNetwork[0].hostPrefix", Value: "31", Message: "30"},
		"cidr-syntax":      {Field: "spec.serviceNetwork[0]", Value: "10.96.0/16", Message: "is not a CIDR"},
		"unknown-type":     {Field: "spec.defaultNetwork.type", Value: "Flannle", Message: "did you mean Flannel?"},
	} {
		p := got[rule]
		if p.File != "-" || p.Field != want.Field || p.Value != want.Value || !strings.Contains(p.Message, want.Message) {
			t.Errorf("rule %s: got %+v, want %+v", rule, p, want)
		}
	}
}

func TestProblemsOfTheShortFormNameItsOwnFields(t *testing.T) {
	const short = `apiVersion: networkoperator.openshift.io/v1
kind: NetworkConfig
metadata: {name: default}
spec:
  clusterNetworks: [{cidr: 10.244.0.0/16, hostSubnetLength: 8}]
  serviceNetwork: 10.244.96.0/20
  defaultNetwork: {type: Flannel}
`
	status, out, _ := validate1(short, "-f", "-")
	if status != exit.Refused || !strings.Contains(out, "spec.clusterNetworks[0].cidr") && !strings.Contains(out, "spec.serviceNetwork:") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestUndecidableInputHasItsOwnStatus(t *testing.T) {
	for _, args := range [][]string{{"-f", "/nonexistent"}, {"-f", "-", "-o", "xml"}, {}, {"-f", "-", "argument"}} {
		if status, _, stderr := validate1("", args...); status != exit.Unusable || stderr == "" {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
}

const pod = `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: ns, annotations: {k8s.v1.cni.cncf.io/networks: 'NETWORKS'}}
spec: {hostNetwork: HOST, containers: []}
`

func TestTheNetworksOfAPodAreValidated(t *testing.T) {
	const field = "metadata.annotations[k8s.v1.cni.cncf.io/networks]"
	for name, c := range map[string]struct {
		networks, host string
		status         int
		want           []string
	}{
		"no networks":    {"", "true", exit.OK, []string{"valid"}},
		"valid networks": {"a,b@data", "false", exit.OK, []string{"valid"}},
		"two errors": {`[{"name":"a","mac":"zz"},{"name":"b","name":"c"}]`, "false", exit.Refused, []string{
			"-: " + field + `[0].mac: "zz" must be a hardware address of six bytes`,
			"-: " + field + `[1].name: "name" is a repeated key`}},
		"the network of the host": {"a", "true", exit.Refused,
			[]string{"-: spec.hostNetwork: \"true\" a Pod with hostNetwork gets no further networks"}},
	} {
		status, out, stderr := validate1(strings.NewReplacer("NETWORKS", c.networks, "HOST", c.host).Replace(pod), "-f", "-")
		if status != c.status {
			t.Errorf("%s: status %d: %s%s", name, status, out, stderr)
		}
		for _, line := range c.want {
			if !strings.Contains("\n"+out, "\n"+line) {
				t.Errorf("%s: %s\nwant %s", name, out, line)
			}
		}
	}
}

func TestPodsAndANetworkInOneFile(t *testing.T) {
	a := strings.NewReplacer("NETWORKS", "a@", "HOST", "false").Replace(pod)
	b := strings.NewReplacer("NETWORKS", "a@lo", "HOST", "false", "name: a,", "generateName: b-,").Replace(pod)
	status, out, stderr := validate1(a+"---\n"+network+"---\n"+b, "-f", "-")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != exit.Refused || len(lines) != 2 || !strings.Contains(lines[0], ", in Pod/a (") || !strings.Contains(lines[1], ", in Pod/b- (") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
	if status, out, stderr := validate1(network+"---\n"+a+"---\n"+network, "-f", "-"); status != exit.Refused || !strings.Contains(out, "Network/cluster is defined twice") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
}

func TestANetworkAttachmentDefinitionIsValidated(t *testing.T) {
	const object = `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: storage, namespace: ns}
spec: {config: 'CONFIG'}
`
	for name, c := range map[string]struct {
		config string
		status int
		want   []string
	}{
		"valid":     {`{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"192.0.2.0/24"}}`, exit.OK, []string{"valid"}},
		"of a file": {``, exit.OK, []string{"valid"}},
		"not JSON":  {`{"type":"macvlan"`, exit.Refused, []string{"-: spec.config: is not valid JSON: it ends too early, at 1:18"}},
		"three errors": {`{"cniVersion":"9","type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"x"},"prevResult":{}}`, exit.Refused, []string{
			"-: spec.config.cniVersion: \"9\"", "-: spec.config.ipam.range: ", "-: spec.config.prevResult: "}},
	} {
		status, out, stderr := validate1(strings.ReplaceAll(object, "CONFIG", c.config), "-f", "-")
		if status != c.status {
			t.Errorf("%s: status %d: %s%s", name, status, out, stderr)
		}
		for _, line := range c.want {
			if !strings.Contains("\n"+out, "\n"+line) {
				t.Errorf("%s: %q is missing:\n%s", name, line, out)
			}
		}
	}
}

func TestAMultiNetworkPolicyIsValidated(t *testing.T) {
	const object = `
apiVersion: k8s.cni.cncf.io/v1beta1
kind: MultiNetworkPolicy
metadata: {name: clients, namespace: ns, annotations: {k8s.v1.cni.cncf.io/policy-for: NETWORKS}}
spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: CIDR}}]}]}
`
	for name, c := range map[string]struct {
		networks, cidr string
		status         int
		want           []string
	}{
		"valid": {"storage", "192.0.2.0/24", exit.OK, []string{"valid"}},
		"two errors": {"Storage", "x", exit.Refused, []string{
			"-: metadata.annotations[k8s.v1.cni.cncf.io/policy-for][0]: \"Storage\"", "-: spec.ingress[0].from[0].ipBlock.cidr: "}},
	} {
		status, out, stderr := validate1(strings.NewReplacer("NETWORKS", c.networks, "CIDR", c.cidr).Replace(object), "-f", "-")
		if status != c.status {
			t.Errorf("%s: status %d: %s%s", name, status, out, stderr)
		}
		for _, line := range c.want {
			if !strings.Contains("\n"+out, "\n"+line) {
				t.Errorf("%s: %q is missing:\n%s", name, line, out)
			}
		}
		if status == exit.Refused && !strings.Contains(out, "in MultiNetworkPolicy/clients; it is enforced in its last valid form") {
			t.Errorf("%s: the effect is missing:\n%s", name, out)
		}
	}
}

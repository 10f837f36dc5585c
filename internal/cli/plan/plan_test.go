package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

const network = `apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 24}]
  serviceNetwork: [10.96.0.0/16]
  defaultNetwork: {type: Flannel}
`

// edited is the network with some texts replaced.
func edited(oldNew ...string) string { return strings.NewReplacer(oldNew...).Replace(network) }

// planned runs the command, with what is applied in a file if there is anything.
func planned(t *testing.T, applied, desired string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	if applied != "" {
		file := filepath.Join(t.TempDir(), "applied")
		if err := os.WriteFile(file, []byte(applied), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--applied", file)
	}
	var out, errOut bytes.Buffer
	cmd := New(pipeline.Pipeline{Registry: networks.Registry()}, "v1")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(strings.NewReader(desired))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(append([]string{"-f", "-", "--offline"}, args...))
	status = exit.Report(&errOut, "cno", cmd.Execute())
	return status, out.String(), errOut.String()
}

// answered is planned with the answer as JSON.
func answered(t *testing.T, applied, desired string, args ...string) (int, preview.Result) {
	t.Helper()
	status, out, stderr := planned(t, applied, desired, append(args, "-o", "json")...)
	var a preview.Result
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
	return status, a
}

func TestEveryDecisionHasItsExitStatus(t *testing.T) {
	vxlan := edited("{type: Flannel}", "{type: Flannel, flannelConfig: {backend: vxlan}}")
	for _, row := range []struct {
		why, applied, desired string
		status                int
		decision              preview.Decision
		field, rule           string
		disruption            provider.Disruption
		refits                int // fields that change with it
	}{
		{why: "a fresh cluster", desired: network, decision: preview.Safe},
		{why: "the same again", applied: network, desired: network, decision: preview.Unchanged},
		{
			why: "a default that is written out is no change", applied: network, decision: preview.Unchanged,
			desired: edited("{type: Flannel}", "{type: Flannel, flannelConfig: {backend: host-gw}}"),
		},
		{
			why: "a field that is left out keeps its value", applied: vxlan, desired: network, decision: preview.Unchanged,
		},
		{
			why: "a harmless change", applied: network, desired: network + "  logLevel: Debug\n", decision: preview.Safe,
			field: "spec.logLevel", disruption: provider.PodsRestart,
		},
		{
			why: "a disruptive change", applied: network, desired: vxlan, status: exit.Refused, decision: preview.NeedsAcknowledgement,
			field: "spec.defaultNetwork.flannelConfig.backend", rule: "flannel-backend-change", disruption: provider.Outage, refits: 2,
		},
		{
			why: "an unsafe change", applied: network, desired: edited("10.96.0.0/16", "172.30.0.0/16"), status: exit.Refused,
			decision: preview.Refused, field: "spec.serviceNetwork[0]", rule: "service-network-change", disruption: provider.Outage,
		},
		{why: "a wrong value", applied: network, desired: edited("10.96.0.0/16", "10.96.0.0/33"), status: exit.Refused, decision: preview.Invalid},
		{why: "a field that no one knows", desired: edited("serviceNetwork", "serviceNetworks"), status: exit.Refused, decision: preview.Invalid},
	} {
		t.Run(row.why, func(t *testing.T) {
			status, a := answered(t, row.applied, row.desired)
			if status != row.status || a.Decision != row.decision {
				t.Fatalf("status %d, decision %s; want %d, %s\n%+v", status, a.Decision, row.status, row.decision, a.Errors)
			}
			if (status != exit.OK) != (len(a.Errors) > 0) || (a.Filled == nil) != (a.Decision == preview.Invalid) {
				t.Errorf("errors %+v, filled %+v", a.Errors, a.Filled)
			}
			if row.field == "" {
				if row.applied != "" && len(a.Changes) > 0 {
					t.Errorf("changes %+v", a.Changes)
				}
				return
			}
			if len(a.Changes) != 1+row.refits {
				t.Fatalf("changes %+v", a.Changes)
			}
			if c := a.Changes[0]; c.Field != row.field || c.Rule != row.rule || c.Disruption != row.disruption {
				t.Errorf("change %+v", c)
			}
		})
	}
}

func TestAFieldWithoutEffectIsReportedByName(t *testing.T) {
	status, a := answered(t, network, network+"  additionalRoutingCapabilities: {providers: [FRR]}\n")
	const want = "spec.additionalRoutingCapabilities: has no effect with network type Flannel; remove it (no-effect)"
	if status != exit.OK || !slices.Contains(a.Notes, want) {
		t.Errorf("status %d, notes %q", status, a.Notes)
	}
	if len(a.Changes) != 1 || a.Changes[0].Message != "it has no effect with network type Flannel" || a.Changes[0].Disruption != provider.NoDisruption {
		t.Errorf("changes %+v", a.Changes)
	}
}

func TestAppliedMayBeTheRecordOrAnObject(t *testing.T) {
	_, a := answered(t, "", network)
	record, err := json.Marshal(a.Filled)
	if err != nil {
		t.Fatal(err)
	}
	for what, applied := range map[string]string{
		"the record":         string(record),
		"an object":          network,
		"a ConfigMap's YAML": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied-cluster}\ndata: {applied: '" + string(record) + "'}\n",
	} {
		if status, a := answered(t, applied, network); status != exit.OK || a.Decision != preview.Unchanged {
			t.Errorf("%s: status %d, decision %s: %+v", what, status, a.Decision, a.Errors)
		}
	}
}

func TestAcknowledgementIsForOneChangeOnly(t *testing.T) {
	backend := func(b, annotation string) string {
		return edited("{type: Flannel}", "{type: Flannel, flannelConfig: {backend: "+b+"}}", "{name: cluster}",
			`{name: cluster, annotations: {networkoperator.openshift.io/acknowledge: "`+annotation+`"}}`)
	}
	_, a := answered(t, network, backend("vxlan", ""))
	if a.Acknowledgement == "" || a.Acknowledged {
		t.Fatalf("acknowledgement %q, given %v", a.Acknowledgement, a.Acknowledged)
	}
	if status, a := answered(t, network, backend("vxlan", a.Acknowledgement)); status != exit.OK || !a.Acknowledged {
		t.Errorf("with it: status %d, given %v", status, a.Acknowledged)
	}
	other := strings.Replace(backend("vxlan", a.Acknowledgement), "backend: vxlan", "backend: vxlan, mtu: 1300", 1)
	if status, a := answered(t, network, other); status != exit.Refused || a.Acknowledged {
		t.Errorf("for another change: status %d, given %v", status, a.Acknowledged)
	}
}

// TestNothingIsRefusedBecauseOfUnknownLinks: without a cluster and --host-mtu, 1500 is only what defaults are made of.
func TestNothingIsRefusedBecauseOfUnknownLinks(t *testing.T) {
	jumbo := edited("{type: Flannel}", "{type: Flannel, flannelConfig: {mtu: 8900}}")
	if status, a := answered(t, "", jumbo); status != exit.OK || a.Decision != preview.Safe {
		t.Errorf("status %d, %s: %v", status, a.Decision, a.Errors)
	}
	if status, a := answered(t, "", jumbo, "--host-mtu", "1500"); status != exit.Refused || len(a.Errors) != 1 || a.Errors[0].Rule != pipeline.RuleLinks {
		t.Errorf("with links of 1500: status %d, %s: %v", status, a.Decision, a.Errors)
	}
}

func TestUndecidableInputIsUnusable(t *testing.T) {
	for why, call := range map[string]struct {
		applied, desired string
		args             []string
	}{
		"no file":           {desired: "", args: []string{"-f", "/nowhere"}},
		"no configuration":  {desired: "kind: Pod\napiVersion: v1\n"},
		"no YAML":           {desired: "\t{"},
		"no applied file":   {desired: network, args: []string{"--applied", "/nowhere"}},
		"a strange record":  {desired: network, applied: "hello"},
		"an unknown output": {desired: network, args: []string{"-o", "xml"}},
		"an MTU of nothing": {desired: network, args: []string{"--host-mtu", "12"}},
		"an unknown flag":   {desired: network, args: []string{"--dry"}},
		"an empty document": {desired: "---\n"},
	} {
		status, out, stderr := planned(t, call.applied, call.desired, call.args...)
		if status != exit.Unusable || out != "" || !strings.HasPrefix(stderr, "cno: ") {
			t.Errorf("%s: status %d\n%s%s", why, status, out, stderr)
		}
	}
}

// TestPlanOutput keeps what people and programs read. The JSON is an interface.
func TestPlanOutput(t *testing.T) {
	for name, desired := range map[string]string{
		"safe":              network + "  kubeProxyConfig: {iptablesSyncPeriod: 20s}\n",
		"needs-acknowledge": edited("{type: Flannel}", "{type: Flannel, flannelConfig: {backend: vxlan}}"),
		"refused":           edited("10.96.0.0/16", "172.30.0.0/16"),
		"invalid":           edited("10.96.0.0/16", "10.96.0.1/16", "hostPrefix: 24", "hostPrefix: 12"),
		"unchanged":         network,
	} {
		for _, form := range []string{"text", "json"} {
			_, out, _ := planned(t, network, desired, "-o", form)
			file := filepath.Join("testdata", name+"."+form)
			golden.Compare(t, file, []byte(out))
		}
	}
}

package offline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const network = `apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 24}]
  serviceNetwork: [10.96.0.0/16]
  defaultNetwork: {type: Flannel}
`

const short = `apiVersion: networkoperator.openshift.io/v1
kind: NetworkConfig
metadata: {name: default}
spec:
  clusterNetworks: [{cidr: 10.244.0.0/16, hostSubnetLength: 8}]
  serviceNetwork: 10.96.0.0/16
  defaultNetwork: {type: Flannel}
`

func stdin(text string) Files { return Files{Stdin: strings.NewReader(text)} }

func TestConfigurationsOfBothKindsAreReadFromOneStream(t *testing.T) {
	inputs, problems, err := stdin("# a comment first\n---\n" + network + "---\n" + short + "---\n").Configurations([]string{"-"})
	if err != nil || len(problems) != 0 {
		t.Fatal(problems, err)
	}
	if len(inputs) != 2 || inputs[0].Network == nil || inputs[1].Config == nil {
		t.Errorf("read %+v", inputs)
	}
}

func TestUndecidableInputIsUnusable(t *testing.T) {
	for _, c := range []struct{ why, text, message string }{
		{"nothing is in it", "# nothing\n", "no Network and no NetworkConfig"},
		{"it is not YAML", "a: [", "document 1"},
		{"it is YAML, and no object", "- 1\n", "not a Kubernetes object"},
		{"it is another kind", "apiVersion: v1\nkind: Pod\n", `kind "Pod" is not a configuration`},
		{"a key twice means one is lost", network + "  logLevel: Debug\n  logLevel: Normal\n", "logLevel"},
	} {
		_, _, err := stdin(c.text).Configurations([]string{"-"})
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v; want unusable, %s", c.why, err, c.message)
		}
	}
	if _, _, err := (Files{}).Configurations([]string{filepath.Join(t.TempDir(), "none")}); !errors.Is(err, ErrUnusable) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestTypingErrorsAreProblemsWithASuggestion(t *testing.T) {
	for _, c := range []struct {
		why, old, new string
		want          []Problem
	}{
		{"a letter is missing", "serviceNetwork", "servceNetwork",
			[]Problem{{File: "-", Field: "spec.servceNetwork", Rule: "unknown-field", Message: "there is no such field; did you mean serviceNetwork?"}}},
		{"nothing is near", "defaultNetwork: {type: Flannel}", "defaultNetwork: {type: Flannel, colour: red}",
			[]Problem{{File: "-", Field: "spec.defaultNetwork.colour", Rule: "unknown-field", Message: "there is no such field; known fields are contivConfig, flannelConfig, kuryrConfig, nuageConfig, openshiftSDNConfig, ovnKubernetesConfig, type"}}},
		{"a number in quotes", "hostPrefix: 24", `hostPrefix: "24"`,
			[]Problem{{File: "-", Field: "spec.clusterNetwork[0].hostPrefix", Rule: "type", Message: "a string is not allowed here; write a whole number without quotes"}}},
		{"a list is needed", "[10.96.0.0/16]", "10.96.0.0/16",
			[]Problem{{File: "-", Field: "spec.serviceNetwork", Rule: "type", Message: "a string is not allowed here; write a list"}}},
	} {
		_, problems, err := stdin(strings.Replace(network, c.old, c.new, 1)).Configurations([]string{"-"})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if diff := cmp.Diff(c.want, problems); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestImagesAreReadAsTheEnvironmentIsPrinted(t *testing.T) {
	got, err := stdin("# from the cluster\nFLANNEL_IMAGE=a/b:1 ETCD_IMAGE=c@sha256:d=\n").Images("-")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"FLANNEL_IMAGE": "a/b:1", "ETCD_IMAGE": "c@sha256:d="}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "FLANNEL_IMAGE", "=x", "FLANNEL_IMAGE="} {
		if _, err := stdin(bad).Images("-"); !errors.Is(err, ErrUnusable) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAppliedIsTheRecordItsConfigMapOrAnObject(t *testing.T) {
	const record = `{"clusterNetwork":[{"cidr":"10.244.0.0/16","hostPrefix":24}],"serviceNetwork":["10.96.0.0/16"],"defaultNetwork":{"type":"Flannel"}}`
	const configMap = "kind: ConfigMap\ndata: {state: applied, revision: '7', applied: '" + record + "'}\n"
	for text, number := range map[string]int{network: 0, record: 0, short: 0, configMap: 7} {
		spec, revision, err := stdin(text).Applied("-")
		if err != nil || spec.ClusterNetwork[0].HostPrefix == 0 || revision != number {
			t.Errorf("%v, revision %d, %v of %s", spec, revision, err, text)
		}
	}
	for _, bad := range []string{"", "{}", "[]", "kind: ConfigMap", strings.Replace(configMap, "{\"cl", "cl", 1)} {
		if _, _, err := stdin(bad).Applied("-"); !errors.Is(err, ErrUnusable) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzConfigurationsNeverPanic(f *testing.F) {
	for _, seed := range []string{network, short, "", "---", "a: &a [*a]", "\x00", network + "---\n" + short} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		files := stdin(text)
		inputs, _, err := files.Configurations([]string{"-"})
		if err != nil {
			return
		}
		for _, in := range inputs {
			in.Spec()
		}
	})
}

func TestWriteIntoAFileLeavesNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	dst := Destination{Name: filepath.Join(dir, "missing", "out.yaml")}
	if err := dst.Write(nil); !errors.Is(err, ErrUnusable) {
		t.Errorf("into a missing directory: %v", err)
	}
	dst.Name = filepath.Join(dir, "out.yaml")
	if err := dst.Write(nil); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 || entries[0].Name() != "out.yaml" {
		t.Errorf("left behind: %v", entries)
	}
}

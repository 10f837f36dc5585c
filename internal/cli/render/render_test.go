package render

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

// call runs a command as main does, and returns its status and what it printed.
func call(cmd *cobra.Command, stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(append([]string{}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	status = exit.Report(&errOut, cmd.Name(), cmd.Execute())
	return status, out.String(), errOut.String()
}

func render(stdin string, args ...string) (int, string, string) {
	return call(New(pipeline.Pipeline{Registry: networks.Registry()}, "v0.0.0-test"), stdin, args...)
}

func TestEverySampleRendersToItsGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, in := range inputs {
		file := strings.TrimSuffix(in, ".in.yaml") + ".out.yaml"
		status, got, stderr := render("", "-f", in, "--images", "testdata/images.env", "--api-server", "192.0.2.1:6443")
		if status != exit.OK {
			t.Errorf("%s: status %d: %s", in, status, stderr)
			continue
		}
		golden.Compare(t, file, []byte(got))
	}
}

func TestTheShortFormRendersTheSameAsTheLongOne(t *testing.T) {
	_, long, _ := render("", "-f", "testdata/flannel.in.yaml")
	_, short, _ := render("", "-f", "testdata/short.in.yaml")
	if diff := cmp.Diff(long, short); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	_, first, _ := render("", "-f", "testdata/flannel.in.yaml")
	for range 20 {
		if _, again, _ := render("", "-f", "testdata/flannel.in.yaml"); again != first {
			t.Fatal(cmp.Diff(first, again))
		}
	}
}

func TestDirectoryHasOneFilePerObjectInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new") + "/"
	if status, _, stderr := render("", "-f", "testdata/flannel.in.yaml", "--out", dir); status != exit.OK {
		t.Fatal(stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, strings.TrimPrefix(string(data), "---\n"))
	}
	_, stream, _ := render("", "-f", "testdata/flannel.in.yaml")
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(stream, "---\n"), "---\n"), parts); diff != "" {
		t.Error(diff)
	}
}

func TestMissingImagesArePlaceholdersWithAWarning(t *testing.T) {
	_, stdout, stderr := render("", "-f", "testdata/flannel.in.yaml")
	if !strings.Contains(stdout, "image: ${FLANNEL_IMAGE}") {
		t.Error("no placeholder of FLANNEL_IMAGE in the output")
	}
	if !strings.Contains(stderr, "placeholders") {
		t.Errorf("standard error does not mention placeholders: %q", stderr)
	}
}

func TestStatusesDistinguishRefusedFromUnusable(t *testing.T) {
	network, err := os.ReadFile("testdata/flannel.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, updated string) string { return strings.Replace(string(network), old, updated, 1) }
	for _, c := range []struct {
		why     string
		stdin   string
		args    []string
		status  int
		message string
	}{
		{"an invalid pool", replace("10.244.0.0/16", "10.244.0/16"), []string{"-f", "-"}, exit.Refused, "is not a CIDR"},
		{"a change of the pool that is applied", replace("10.244.0.0/16", "10.245.0.0/16"),
			[]string{"-f", "-", "--applied", "testdata/flannel.in.yaml"}, exit.Refused, "spec.clusterNetwork"},
		{"a change of the type that is applied", replace("Flannel", "Anything"),
			[]string{"-f", "-", "--applied", "testdata/flannel.in.yaml"}, exit.Refused, "spec.defaultNetwork.type"},
		{"no change of what is applied", string(network), []string{"-f", "-", "--applied", "testdata/flannel.in.yaml"}, exit.OK, ""},
		{"a missing file", "", []string{"-f", "testdata/none.yaml"}, exit.Unusable, "no such file"},
		{"a value of the wrong type", replace("hostPrefix: 24", "hostPrefix: many"), []string{"-f", "-"}, exit.Refused, "spec.clusterNetwork[0].hostPrefix: a string is not allowed here"},
		{"https without a certificate", replace("{type: Flannel}", "{type: Flannel, flannelConfig: {etcd: {external: {endpoints: ['https://192.0.2.1:2379'], caConfigMap: ca}}}}"), []string{"-f", "-"}, exit.Refused, "clientCertificateSecret: is required with https endpoints"},
		{"what only the CRD refuses", replace("spec:", "spec:\n  logLevel: Loud"), []string{"-f", "-"}, exit.Refused, "spec.logLevel"},
		{"an image that is not given", string(network), []string{"-f", "-", "--images", "testdata/one-image.env"}, exit.Unusable, "KUBE_PROXY_IMAGE"},
		{"an MTU that the links do not carry", replace("{type: Flannel}", "{type: Flannel, flannelConfig: {mtu: 8900}}"), []string{"-f", "-", "--host-mtu", "1500"}, exit.Refused, "mtu"},
		{"the same for links without a record", replace("{type: Flannel}", "{type: Flannel, flannelConfig: {mtu: 8900}}"), []string{"-f", "-"}, exit.OK, ""},
		{"an impossible MTU", string(network), []string{"-f", "-", "--host-mtu", "10"}, exit.Unusable, "576"},
		{"an address that is none", string(network), []string{"-f", "-", "--api-server", "x"}, exit.Unusable, "--api-server"},
		{"no file named", "", nil, exit.Unusable, "required flag"},
		{"two of a kind", string(network), []string{"-f", "-", "-f", "testdata/flannel.in.yaml"}, exit.Refused, "Network/cluster is defined twice, in -, document 1 and in testdata/flannel.in.yaml, document 1"},
		{"a directory that cannot be made", string(network), []string{"-f", "-", "--out", "/dev/null/x/"}, exit.Unusable, "not a directory"},
	} {
		status, _, stderr := render(c.stdin, c.args...)
		if status != c.status || !strings.Contains(stderr, c.message) {
			t.Errorf("%s: status %d, %q; want %d, %q", c.why, status, stderr, c.status, c.message)
		}
	}
}

func TestNetworkTakesPrecedenceOverNetworkConfig(t *testing.T) {
	_, want, _ := render("", "-f", "testdata/flannel.in.yaml")
	for _, order := range [][]string{{"flannel", "short"}, {"short", "flannel"}} {
		_, got, _ := render("", "-f", "testdata/"+order[0]+".in.yaml", "-f", "testdata/"+order[1]+".in.yaml")
		if got != want {
			t.Errorf("%v: %s", order, cmp.Diff(want, got))
		}
	}
}

func TestRendererMatchesRender(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.yaml")
	cmd := NewRenderer(pipeline.Pipeline{Registry: networks.Registry()}, "v0.0.0-test")
	if status, _, stderr := call(cmd, "", "--config", "testdata/flannel.in.yaml", "--out", out); status != exit.OK {
		t.Fatal(stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := render("", "-f", "testdata/flannel.in.yaml")
	if string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
}

func TestReferencesAreToWhatIsRendered(t *testing.T) {
	_, stream, _ := render("", "-f", "testdata/flannel.in.yaml")
	kinds := []string{}
	for line := range strings.Lines(stream) {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
	}
	first := func(kind string) int { return slices.Index(kinds, kind) }
	for _, pair := range [][2]string{{"Namespace", "ServiceAccount"}, {"ServiceAccount", "DaemonSet"}, {"ConfigMap", "DaemonSet"}, {"ClusterRole", "ClusterRoleBinding"}} {
		if first(pair[0]) < 0 || first(pair[0]) > first(pair[1]) {
			t.Errorf("%s does not come before %s: %v", pair[0], pair[1], kinds)
		}
	}
}

package olm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

// written is the directory of a bundle, as make release packs it.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./hack/olmbundle", "-version", "v0.2.0", dir)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// problems are the errors of operator-framework's validators, and their warnings.
func problems(t *testing.T, dir string) (failed, warned []string) {
	t.Helper()
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return []string{err.Error()}, nil
	}
	validators := append(slices.Clone(validation.DefaultBundleValidators), validation.OperatorHubValidator, validation.ObjectValidator, validation.OperatorGroupValidator)
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, e := range result.Errors {
			failed = append(failed, e.Error())
		}
		for _, w := range result.Warnings {
			warned = append(warned, w.Error())
		}
	}
	return failed, warned
}

func TestTheBundleIsValid(t *testing.T) {
	failed, warned := problems(t, written(t))
	for _, f := range failed {
		t.Error(f)
	}
	// Only the operator writes these kinds: there is nothing that a user could create by an example.
	internal := []string{"NetworkComponent", "NetworkGuard", "NetworkNode", "PodNetworkConnectivityCheck"}
	for _, kind := range internal {
		want := "Kind=" + kind + ": provided API should have an example annotation"
		warned = slices.DeleteFunc(warned, func(w string) bool { return strings.HasSuffix(w, want) })
	}
	for _, w := range warned {
		t.Error("warning: " + w)
	}
}

// TestValidatorsFindErrors ensures that the test above can fail.
func TestValidatorsFindErrors(t *testing.T) {
	dir := written(t)
	csv, err := filepath.Glob(filepath.Join(dir, "manifests", "*clusterserviceversion.yaml"))
	if err != nil || len(csv) != 1 {
		t.Fatalf("%v, %v", csv, err)
	}
	content, err := os.ReadFile(csv[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, broken := range map[string]string{
		"a CRD that is not in the bundle": strings.Replace(string(content), "name: networks.operator.openshift.io", "name: networks.other.example", 1),
		"a version that is none":          strings.Replace(string(content), "version: 0.2.0", "version: latest", 1),
		"no install mode":                 strings.Replace(string(content), "supported: true", "supported: false", 1),
	} {
		if err := os.WriteFile(csv[0], []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if failed, _ := problems(t, dir); len(failed) == 0 {
			t.Errorf("%s: no error", what)
		}
	}
}

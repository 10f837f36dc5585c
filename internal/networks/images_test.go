package networks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImagesAreBuiltAndConfigured: each image that a network declares is built, and named by the configuration that installs the
// operator.
func TestImagesAreBuiltAndConfigured(t *testing.T) {
	configuration, err := os.ReadFile("../../config/default/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range Registry().Operands().Images {
		if _, err := os.Stat(filepath.Join("../../images", image.Name, "image.yaml")); err != nil {
			t.Errorf("%s: %v", image.Variable, err)
		}
		if line := "- " + image.Variable + "=localhost/cno/" + image.Name + ":v"; !strings.Contains(string(configuration), line) {
			t.Errorf("config/default lacks %q", line)
		}
	}
}

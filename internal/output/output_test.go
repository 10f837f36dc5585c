package output

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

func TestJSONAndYAMLAreEquivalent(t *testing.T) {
	v := map[string]any{"name": "a<b>&c", "list": []any{"x", map[string]any{"n": 1.0}}, "none": nil}
	var texts [2]strings.Builder
	for i, f := range []Format{JSON, YAML} {
		if err := f.Write(&texts[i], v); err != nil {
			t.Fatal(err)
		}
	}
	var asJSON, asYAML any
	if err := json.Unmarshal([]byte(texts[0].String()), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(texts[1].String()), &asYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON, asYAML); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(texts[0].String(), "a<b>&c") {
		t.Errorf("it is escaped as if for a web page: %s", &texts[0])
	}
}

func TestUnknownFormatErrorListsTheKnownFormats(t *testing.T) {
	var f Format
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	f.Add(cmd)
	cmd.SetArgs([]string{"-o", "xml"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `"xml" is not text, json or yaml`) {
		t.Errorf("got %v", err)
	}
	cmd.SetArgs([]string{"-o", "yaml"})
	if err := cmd.Execute(); err != nil || f != YAML || f.ForPeople() {
		t.Errorf("%v, %v", f, err)
	}
}

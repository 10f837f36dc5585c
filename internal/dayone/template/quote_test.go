package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// What is written is read as what it was, regardless of its look.
func FuzzTextsStayTexts(f *testing.F) {
	for _, s := range []string{"", "100", "true", "no", "~", "0x1f", "1e3", "2001-01-01", "a: b", "# x", " lead", "multi\nline\n", "{{ x }}", "- a", "é\u00a0\u2028", "\x00", "\t", "'\"", "!!int 3", "&a", "*a", "192.0.2.1", "::", "=", "<<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		content, err := encode(tree{"a": text, "b": []any{text}})
		if err != nil {
			return
		}
		var got map[string]any
		if err := yaml.Unmarshal(content, &got); err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		if diff := cmp.Diff(map[string]any{"a": text, "b": []any{text}}, got); diff != "" {
			t.Fatalf("%q: %s", content, diff)
		}
	})
}

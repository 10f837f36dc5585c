package provenance

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStatementNamesFilesAndInputsInOrder(t *testing.T) {
	input := Resource{URI: "pkg:deb/debian/b@1", Digest: map[string]string{"sha256": "3"}}
	content, err := New(Build{
		Version: "v1.0.0", Source: "https://example.com/cno", Commit: "c0ffee", Go: "go1.26.8",
		Files:  map[string]string{"install.yaml": "1", "cno.tar.gz": "2"},
		Inputs: []Resource{input, {URI: "pkg:deb/debian/a@1", Digest: map[string]string{"sha256": "4"}}, input},
	}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	digest := func(kind, value string) map[string]any { return map[string]any{kind: value} }
	want := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
		"subject": []any{
			map[string]any{"name": "cno.tar.gz", "digest": digest("sha256", "2")}, map[string]any{"name": "install.yaml", "digest": digest("sha256", "1")},
		},
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType": BuildType, "externalParameters": map[string]any{"version": "v1.0.0"},
				"resolvedDependencies": []any{
					map[string]any{"uri": "git+https://example.com/cno", "digest": digest("gitCommit", "c0ffee")},
					map[string]any{"uri": "pkg:golang/toolchain@go1.26.8"},
					map[string]any{"uri": "pkg:deb/debian/a@1", "digest": digest("sha256", "4")},
					map[string]any{"uri": "pkg:deb/debian/b@1", "digest": digest("sha256", "3")},
				},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": BuildType + "#builder"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

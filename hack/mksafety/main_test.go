package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func TestDocumentedTableMatchesTheCode(t *testing.T) {
	page, err := os.ReadFile("../../docs/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaced(page, table(networks.Registry().Fields("")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(page)); d != "" {
		t.Errorf("run hack/generate.sh: %s", d)
	}
}

func TestPageWithoutMarkersIsAnError(t *testing.T) {
	if _, err := replaced([]byte("# A page\n"), ""); err == nil {
		t.Error("it is accepted")
	}
}

// Other pages have the class of each field in the column Change.
func TestOtherPagesNameTheSameClasses(t *testing.T) {
	fields := networks.Registry().Fields("")
	for _, page := range []struct {
		file, from, to, prefix string
		column, rows           int
	}{
		{"../../docs/api.md", "\n### spec\n", "\n### spec.defaultNetwork.flannelConfig\n", "spec.", 3, 18},
		{"../../docs/api.md", "\n### spec.defaultNetwork.flannelConfig\n", "\n```yaml", "spec.defaultNetwork.flannelConfig.", 3, 13},
		{"../../docs/providers/flannel.md", "\n## Settings\n", "\nThe pool:", "spec.defaultNetwork.flannelConfig.", 4, 11},
	} {
		content, err := os.ReadFile(page.file)
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(content), page.from)
		section, _, _ = strings.Cut(section, page.to)
		rows := 0
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) <= page.column || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
				continue
			}
			path, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(cells[1]), "`"), "`")
			class := strings.Trim(strings.TrimSpace(cells[page.column]), "[")
			if class == "" || strings.HasPrefix(class, "see ") {
				continue // its fields have their own rows
			}
			rows++
			f := provider.FieldOf(fields, page.prefix+strings.ReplaceAll(path, "[]", ""))
			if !strings.HasPrefix(class, string(f.Class)) || strings.Contains(class, "acknowledgement") != f.Acknowledge {
				t.Errorf("%s has %q for %s; the code has %s, acknowledgement %v", page.file, class, path, f.Class, f.Acknowledge)
			}
		}
		if rows < page.rows {
			t.Errorf("%s, %s: %d rows were found, want %d", page.file, page.from, rows, page.rows)
		}
	}
}

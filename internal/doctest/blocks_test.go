package doctest_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/doctest"
)

// fences lets raw strings hold fences.
func fences(s string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.ReplaceAll(s, "'''", "```"))}
}

func TestBlocksOfAllDocumentsAreFound(t *testing.T) {
	repository := fstest.MapFS{
		"README.md": fences("# x\n'''yaml\na: 1\n'''\n'''sh\nmake\n'''\n"),
		"docs/programs/cno.md": fences("1. first\n\n   '''yaml refused\n   a:\n     b: 1\n   '''\n\n   '''text\n   one\n   two\n   '''\n" +
			"'''yaml\nc: 1\n'''\nwords\n'''text\nnot an answer\n'''\n"),
		"docs/picture.txt": fences("'''yaml\nd: 1\n'''\n"),
		"other.md":         fences("'''yaml\ne: 1\n'''\n"),
	}
	got, err := doctest.Blocks(repository)
	if err != nil {
		t.Fatal(err)
	}
	want := []doctest.Block{
		{File: "README.md", Line: 2, Content: "a: 1"},
		{File: "docs/programs/cno.md", Line: 3, Refused: true, Content: "a:\n  b: 1", Answer: []string{"one", "two"}},
		{File: "docs/programs/cno.md", Line: 12, Content: "c: 1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenFenceIsAnErrorWithItsPosition(t *testing.T) {
	_, err := doctest.Blocks(fstest.MapFS{"README.md": fences("\n'''yaml\na: 1\n"), "docs/a.md": fences("")})
	if err == nil || !strings.Contains(err.Error(), "README.md:2") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyCompleteObjectsAreExamples(t *testing.T) {
	for _, row := range []struct {
		why, content string
		want         []string
	}{
		{"two documents", "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n", []string{"A", "B"}},
		{"a part of an object", "spec:\n  a: 1\n", nil},
		{"a list", "- a\n- b\n", nil},
		{"nothing", "", nil},
		{"a comment between", "apiVersion: v1\nkind: A\n---\n# nothing\n", []string{"A"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			objects, err := doctest.Block{Content: row.content}.Objects()
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, object := range objects {
				kinds = append(kinds, object.GetKind())
			}
			if diff := cmp.Diff(row.want, kinds); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBrokenYAMLIsAnErrorWithItsPosition(t *testing.T) {
	for why, content := range map[string]string{"not YAML": "a: [", "a key twice": "a: 1\na: 2\n"} {
		_, err := doctest.Block{File: "docs/a.md", Line: 7, Content: content}.Objects()
		if err == nil || !strings.Contains(err.Error(), "docs/a.md:7") {
			t.Errorf("%s: got %v", why, err)
		}
	}
}

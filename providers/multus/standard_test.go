package multus

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requirements are the sections of the standard 1.3 that have one, each once.
var requirements = []string{
	"2.1", "3.2", "3.3", "3.4.1", "3.4.2",
	"4.1", "4.1.2.1", "4.1.2.1.1", "4.1.2.1.2", "4.1.2.1.3", "4.1.2.1.3.2", "4.1.2.1.4", "4.1.2.1.4.2", "4.1.2.1.5", "4.1.2.1.5.1", "4.1.2.1.6.2",
	"4.1.2.1.7", "4.1.2.1.7.2", "4.1.2.1.8", "4.1.2.1.8.2", "4.1.2.1.9", "4.1.2.1.10", "4.1.2.1.10.2", "4.1.2.1.11", "4.2", "4.2.1",
	"5", "5.1.1", "5.2", "5.3", "5.3.1", "5.3.2", "5.3.3", "5.3.4", "5.3.5", "5.3.6", "5.3.6.4", "5.3.7",
	"6", "6.1", "6.2", "7.1", "7.2", "7.3", "7.4", "7.5", "8.1",
}

// TestStandardPageMatchesTheTests: each requirement has a row, and each row tests that exist and run.
func TestStandardPageMatchesTheTests(t *testing.T) {
	const root = "../.."
	raw, err := os.ReadFile(filepath.Join(root, "docs/providers/multi-network-standard.md"))
	if err != nil {
		t.Fatal(err)
	}
	content, _, _ := strings.Cut(string(raw), "## Differences")
	row := regexp.MustCompile(`(?m)^\| ([0-9.]+) \| ([^|]+) \| ([^|]+) \|$`)
	var sections []string
	for _, m := range row.FindAllStringSubmatch(content, -1) {
		section, tests := m[1], m[3]
		if !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
		for reference := range strings.SplitSeq(tests, ";") {
			dir, names, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(reference), "`"), "` ")
			if !ok {
				t.Errorf("%s: %q names no directory and test", section, reference)
				continue
			}
			code := testsOf(t, filepath.Join(root, dir))
			for name := range strings.SplitSeq(names, ",") {
				body, exists := code[strings.TrimSpace(name)]
				if !exists || strings.Contains(body, "t.Skip") {
					t.Errorf("%s: %s has no test %s, or it may be skipped", section, dir, strings.TrimSpace(name))
				}
			}
		}
	}
	if diff := cmp.Diff(requirements, sections); diff != "" {
		t.Errorf("sections with a requirement, and those that the page has: %s", diff)
	}
	if lines := regexp.MustCompile(`(?m)^\| [0-9]`).FindAllString(content, -1); len(lines) != len(row.FindAllString(content, -1)) {
		t.Error("a row of the page is not read")
	}
}

// testsOf returns the tests of a directory with their bodies.
func testsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no tests: %v", dir, err)
	}
	start := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t \*testing\.T\) \{$`)
	tests := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, at := range start.FindAllStringSubmatchIndex(text, -1) {
			body, _, _ := strings.Cut(text[at[0]:], "\n}\n")
			tests[text[at[2]:at[3]]] = body
		}
	}
	return tests
}

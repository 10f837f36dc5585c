package faults_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryTestOfTheDocumentExists keeps docs/reliability.md true.
func TestEveryTestOfTheDocumentExists(t *testing.T) {
	const root = "../../.."
	document, err := os.ReadFile(filepath.Join(root, "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "_output" || d.Name() == ".git") {
			return skip(err)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(source, -1) {
			exists[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	row, name := regexp.MustCompile(`^\| (\d+) \|`), regexp.MustCompile("`(Test\\w+)`")
	rows := 0
	for line := range bytes.Lines(document) {
		number := row.FindSubmatch(line)
		if number == nil {
			continue
		}
		if rows++; strconv.Itoa(rows) != string(number[1]) {
			t.Errorf("row %s comes after row %d", number[1], rows-1)
		}
		names := name.FindAllSubmatch(line, -1)
		if len(names) == 0 {
			t.Errorf("row %d names no test", rows)
		}
		for _, n := range names {
			if !exists[string(n[1])] {
				t.Errorf("row %d names %s, which does not exist", rows, n[1])
			}
		}
	}
	if rows < 47 { // the format of the rows has changed, or some are lost
		t.Errorf("%d rows", rows)
	}
}

// skip passes an error on, or leaves a directory out.
func skip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

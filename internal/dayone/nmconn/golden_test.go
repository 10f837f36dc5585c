package nmconn

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// golden is the output of NMState's generator for a document.
type golden struct {
	NetworkManager [][2]string
	Error          string
}

func generate(t *testing.T, name string, data []byte) ([]File, nmstate.Problems) {
	t.Helper()
	doc, problems := nmstate.Parse(name, data)
	if doc == nil {
		return nil, problems
	}
	files, more := Generate(doc)
	return files, append(problems, more...)
}

func TestFilesAreThoseOfNMState(t *testing.T) {
	compareDirectory(t, "testdata", 37)
}

// TestFilesFollowFromNMStatesSource has documents with every option once. No one ran NMState's generator on them: their files were
// compared line by line with what its source does.
func TestFilesFollowFromNMStatesSource(t *testing.T) {
	compareDirectory(t, "testdata/derived", 7)
}

// compareDirectory compares the documents of a directory, which has at least as many, with the files beside them.
func compareDirectory(t *testing.T, dir string, least int) {
	t.Helper()
	inputs, err := filepath.Glob(dir + "/*.yml")
	if err != nil || len(inputs) < least {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".yml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(strings.TrimSuffix(in, ".yml") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want golden
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			files, problems := generate(t, filepath.Base(in), data)
			if strings.HasPrefix(name, "err-") != (want.Error != "") {
				t.Fatalf("the golden file has %q", want.Error)
			}
			if want.Error != "" {
				if !problems.HasErrors() || files != nil {
					t.Errorf("not refused, where NMState reports %q", want.Error)
				}
				return
			}
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			got := [][2]string{}
			for _, f := range files {
				got = append(got, [2]string{f.Name, f.Content})
			}
			if diff := cmp.Diff(want.NetworkManager, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

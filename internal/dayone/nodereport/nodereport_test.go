package nodereport

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReportsArriveAsTheyWereSent(t *testing.T) {
	want := Report{Node: "w-0.example.com", Result: "applied", File: "w-0.yml", SHA256: "ab", Message: "é", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(Name(want.Node), data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Decode(Name("w-1"), data); err == nil {
		t.Error("a report is believed in the place of another node's")
	}
}

func TestNamesFitWhateverTheNodeIsCalled(t *testing.T) {
	long := strings.Repeat("a.", 120) + strings.Repeat("b", 13)
	if name := Name(long); len(name) > longestName || name == Name(long[1:]) {
		t.Errorf("%d letters: %s", len(name), name)
	}
}

func FuzzFromHost(f *testing.F) {
	f.Add([]byte(`{"result":"applied","source":{"file":"a.yml"}}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, content []byte) {
		if r, err := FromHost("n", content); err == nil && r.Node != "n" {
			t.Error("a file on the host names another node")
		}
	})
}

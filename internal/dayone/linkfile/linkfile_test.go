package linkfile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

func TestEveryCardWithAlternativeNamesHasAFile(t *testing.T) {
	doc := parse(t, "testdata/cards.yml")
	var got strings.Builder
	for _, f := range Files(doc) {
		fmt.Fprintf(&got, "# %s/%s\n%s\n", Dir, f.Name, f.Content)
	}
	const file = "testdata/cards.out"
	golden.Compare(t, file, []byte(got.String()))
}

func TestWhatAFormLeavesOutIsAWarning(t *testing.T) {
	doc := parse(t, "testdata/cards.yml")
	var got []string
	for _, p := range append(Left(doc), Unwritten(doc, "a profile of NetworkManager")[:1]...) {
		if !p.Warning {
			t.Errorf("an error: %s", p)
		}
		got = append(got, p.String())
	}
	want := []string{
		"testdata/cards.yml:23: warning: interfaces[8].alt-names: is left out: before the boot only network cards get alternative names; host-network adds those of bond0 at the first boot",
		"testdata/cards.yml:3: warning: interfaces[0].alt-names: is left out: a profile of NetworkManager cannot contain it; an Ignition configuration can (cno dayone render --as ignition), and host-network adds the names at the first boot",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func parse(t *testing.T, path string) *nmstate.Document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := nmstate.Parse(path, data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return doc
}

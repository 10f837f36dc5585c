package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/networks"
)

func TestTheTableOfTheDocumentIsThatOfTheCode(t *testing.T) {
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

func TestAPageWithoutMarksIsAnError(t *testing.T) {
	if _, err := replaced([]byte("# A page\n"), ""); err == nil {
		t.Error("it is accepted")
	}
}

package egressrouter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

// Each testdata/*.in.json is a configuration, and *.out.nft its table. That the kernel has what is in it is tested in package plugin.
func TestRules(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.json")
	if err != nil || len(inputs) == 0 {
		t.Fatal(inputs, err)
	}
	for _, input := range inputs {
		raw, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		conf, errs := Parse(raw)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", input, errs)
		}
		golden.Compare(t, strings.TrimSuffix(input, ".in.json")+".out.nft", []byte(Rules(&conf, "net1").String()))
	}
}

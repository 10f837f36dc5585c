package template

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

func specOf(t testing.TB, text string) *networkv1.HostNetworkConfigSpec {
	t.Helper()
	var spec networkv1.HostNetworkConfigSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return &spec
}

// text returns all documents as one text.
func text(r Rendered) string {
	var out strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&out, "== FirstBoot: %s\n%s", f.Name, f.Content)
	}
	for _, d := range r.PreBoot {
		fmt.Fprintf(&out, "== PreBoot: %s (%s)\n%s", d.Host, d.BareMetalHost, d.Content)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&out, "== warning: %s\n", w)
	}
	return out.String()
}

func TestSpecificationsRenderToTheirGoldens(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(in), func(t *testing.T) {
			content, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			rendered, errs := Render(specOf(t, string(content)))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			got, file := text(rendered), strings.TrimSuffix(in, ".in.yaml")+".out.txt"
			golden.Compare(t, file, []byte(got))
			again, _ := Render(specOf(t, string(content)))
			if text(again) != got {
				t.Error("a second time gives other bytes")
			}
		})
	}
}

package connectivity

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNodesThatShareTheirFirstLabelHaveDifferentNames(t *testing.T) {
	names := NewNames([]string{"db.east.example.com", "db.west.example.com", "web.east.example.com", "db.east.example.com"})
	if names.Of("web.east.example.com") != "web" {
		t.Errorf("a name that is no one else's is %q", names.Of("web.east.example.com"))
	}
	east, west := names.Of("db.east.example.com"), names.Of("db.west.example.com")
	if east == west || !strings.HasPrefix(east, "db.") || !strings.HasPrefix(west, "db.") {
		t.Errorf("%q and %q", east, west)
	}
	if names.Of("unheard.of") != NewNames([]string{"unheard.x", "unheard.of"}).Of("unheard.of") {
		t.Error("a node that is not known has another name than one that shares its label")
	}
}

func FuzzNamesOfChecksAreValidAndDiffer(f *testing.F) {
	for _, pair := range [][2]string{{"a.x", "a.y"}, {"10.0.0.1", "10-0-0-1"}, {"fd00::1", "fd00--1"}, {strings.Repeat("n", 253), strings.Repeat("n", 252)}, {"a", "a.0b4b1d5a"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, n := range []string{a, b} {
			// Names of nodes are what the API server accepts; some kubelets register addresses.
			if len(validation.IsDNS1123Subdomain(n)) > 0 && len(validation.IsValidIP(nil, n)) > 0 {
				return
			}
		}
		names := NewNames([]string{a, b})
		first, second := names.Check(a, TargetName+"-"+names.Of(b)), names.Check(b, TargetName+"-"+names.Of(a))
		for _, n := range []string{first, second} {
			if problems := validation.IsDNS1123Subdomain(n); len(problems) > 0 || !IsCheckName(n) {
				t.Errorf("%q: %v", n, problems)
			}
		}
		if a != b && first == second {
			t.Errorf("%q and %q are both %q", a, b, first)
		}
	})
}

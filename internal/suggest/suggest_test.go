package suggest

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"flannel", "flannel", 0}, {"flanel", "flannel", 1}, {"flennal", "flannel", 2},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"größe", "grosse", 3}, {"ab", "ba", 2},
	} {
		for _, pair := range [][2]string{{tc.a, tc.b}, {tc.b, tc.a}} {
			if got, ok := Distance(pair[0], pair[1], 10); got != tc.want || !ok {
				t.Errorf("Distance(%q, %q) = %d, %v, want %d", pair[0], pair[1], got, ok, tc.want)
			}
			if _, ok := Distance(pair[0], pair[1], tc.want-1); ok {
				t.Errorf("Distance(%q, %q) is within %d", pair[0], pair[1], tc.want-1)
			}
		}
	}
}

func TestClosest(t *testing.T) {
	known := []string{"Flannel", "OVNKubernetes", "OpenShiftSDN", "Kuryr", "Nuage", "Contiv"}
	for _, tc := range []struct{ why, word, want string }{
		{"a letter is missing", "OVNKubernets", "OVNKubernetes"},
		{"case does not count", "openshiftSND", "OpenShiftSDN"},
		{"two letters", "Kurir", "Kuryr"},
		{"a network of a third party", "Calico", ""},
		{"another", "Cilium", ""},
		{"another", "Weave", ""},
		{"another", "Antrea", ""},
		{"another", "Canal", ""},
		{"another", "Raw", ""},
		{"another", "NCP", ""},
		{"nothing", "", ""},
		{"a very long word costs nothing", strings.Repeat("x", 1<<20), ""},
		{"no text at all", "\xff\xfe", ""},
	} {
		if got, ok := Closest(tc.word, known, 2); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: Closest = %q, %v, want %q", tc.why, got, ok, tc.want)
		}
	}
	if got, _ := Closest("flag-b", []string{"flag-a", "flag-b", "flag-c"}, 2); got != "flag-b" {
		t.Errorf("the closest of several is %q", got)
	}
	if got, _ := Closest("flag-x", []string{"flag-a", "flag-b"}, 2); got != "flag-a" {
		t.Errorf("the first of equally close ones is %q", got)
	}
	if got, ok := Closest("foo", []string{"v"}, 3); ok {
		t.Errorf("%q has no letter of foo", got)
	}
}

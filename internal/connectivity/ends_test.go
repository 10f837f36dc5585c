package connectivity

import "testing"

func TestCheckNameRoundTrip(t *testing.T) {
	nodes := []string{"a", "b.example.org", "b.example.net", "x-to-y", "x", "10.0.0.1"}
	names, ends := NewNames(nodes), EndsOf(nodes)
	for _, source := range nodes {
		for _, target := range nodes {
			check := names.Check(source, TargetName+"-"+names.Of(target))
			if got, ok := ends(check); !ok || got != (Ends{source, target, true}) {
				t.Errorf("%s: %+v, %v", check, got, ok)
			}
		}
		check := names.Check(source, "kubernetes-apiserver-service-cluster")
		if got, ok := ends(check); !ok || got != (Ends{source, "kubernetes-apiserver-service-cluster", false}) {
			t.Errorf("%s: %+v, %v", check, got, ok)
		}
	}
	for _, row := range []struct{ why, check string }{
		{"a check of a third party", "mine-a-to-b"},
		{"a node that left", names.Check("gone", TargetName+"-a")},
		{"no target", SourceName + "-a"},
		{"nothing", ""},
	} {
		if got, ok := ends(row.check); ok {
			t.Errorf("%s: %q is read as %+v", row.why, row.check, got)
		}
	}
}

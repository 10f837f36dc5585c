package node

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/multinet/policy"
)

// A policy becomes invalid, and its daemon, or its node, starts again.
func TestLastValidPolicySurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policies")
	object := func(networks string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"namespace": "ns", "name": "p", "uid": "u1", "annotations": map[string]any{policy.AnnotationFor: networks}},
			"spec": map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "a"}}, "ingress": []any{
				map[string]any{"from": []any{map[string]any{"ipBlock": map[string]any{"cidr": "192.0.2.0/24"}}}, "ports": []any{map[string]any{"port": "web"}}}}},
		}}}
	}
	start := func() (*policyMemory, *policy.Reader) {
		t.Helper()
		m := newPolicyMemory(dir)
		valid, err := m.load()
		if err != nil {
			t.Fatal(err)
		}
		return m, policy.NewReader(valid)
	}
	m, book := start()
	first, problems := book.Read(object("lan"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := m.save(book.Valid()); err != nil {
		t.Fatal(err)
	}
	m, book = start()
	again, problems := book.Read(object("Not/A/Name"))
	if len(problems) != 1 || len(again) != 1 || again[0].AllNetworks || !again[0].On("ns/lan") || again[0].On("ns/other") {
		t.Errorf("%+v, %+v", again, problems)
	}
	if len(again) == 1 && (again[0].Spec.PodSelector.String() != first[0].Spec.PodSelector.String() || again[0].Spec.Ingress[0].Ports[0].Port.String() != "web") {
		t.Errorf("the form has changed: %+v, was %+v", again[0], first[0])
	}
	// It stays the last valid form while it is invalid, and is removed with the policy.
	if err := m.save(book.Valid()); err != nil {
		t.Fatal(err)
	}
	_, book = start()
	if again, _ := book.Read(object("Not/A/Name")); again[0].AllNetworks {
		t.Error("it is lost after another restart")
	}
	book.Read(nil)
	if len(book.Valid()) > 0 {
		t.Error("a policy that is deleted is kept")
	}
	if err := os.WriteFile(filepath.Join(dir, "valid.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if valid, err := newPolicyMemory(dir).load(); err == nil || valid != nil {
		t.Errorf("a damaged file: %v %v", valid, err)
	}
	m, _ = start() // it was set aside
	if err := m.save(nil); err != nil {
		t.Fatal(err)
	}
}

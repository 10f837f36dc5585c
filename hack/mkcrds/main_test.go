package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// ofOpenShift begin the places whose rules come with OpenShift's own types.
var ofOpenShift = []string{"spec.defaultNetwork.ovnKubernetesConfig.", "spec.additionalRoutingCapabilities.", "status."}

// TestCRDsHaveAllRules compares the committed CRDs with the tables; hack/generate.sh writes them.
func TestCRDsHaveAllRules(t *testing.T) {
	placed := map[string]bool{}
	for name, crd := range definitions(t) {
		kind := text(crd, "spec", "names", "kind")
		for _, v := range list(crd, "spec", "versions") {
			version, _ := v.(map[string]any)
			compare(t, name, kind, "", object(version, "schema", "openAPIV3Schema"), placed)
		}
	}
	if err := allPlaced(placed); err != nil {
		t.Error(err)
	}
}

// definitions are the committed CRDs.
func definitions(t *testing.T) map[string]map[string]any {
	t.Helper()
	var names []string
	for _, pattern := range []string{"../../api/crds/*.openshift.io_*.yaml", "../../api/crds/*/*.openshift.io_*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 4 {
			t.Fatalf("%v, %v", found, err)
		}
		names = append(names, found...)
	}
	all := map[string]map[string]any{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		crd := map[string]any{}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			t.Fatal(err)
		}
		all[name] = crd
	}
	return all
}

func compare(t *testing.T, name, kind, path string, schema map[string]any, placed map[string]bool) {
	t.Helper()
	at := strings.TrimSpace(kind + " " + path)
	placed[at] = true
	var want []any
	for _, r := range rules.All() {
		for _, place := range r.At {
			if place == at {
				want = append(want, validation(r))
			}
		}
	}
	got := list(schema, "x-kubernetes-validations")
	if !reflect.DeepEqual(got, want) && !slices.ContainsFunc(ofOpenShift, func(begin string) bool { return strings.HasPrefix(path, begin) }) {
		t.Errorf("%s, %s: the rules are %v, want those of the table, %v: run hack/generate.sh", name, at, got, want)
	}
	for below, s := range object(schema, "properties") {
		if s, ok := s.(map[string]any); ok {
			compare(t, name, kind, strings.TrimPrefix(path+"."+below, "."), s, placed)
		}
	}
	if items := object(schema, "items"); items != nil {
		compare(t, name, kind, path+"[]", items, placed)
	}
}

// TestDescriptionsEndWithTheChangeClass tests that kubectl explain has the class that the operator uses.
func TestDescriptionsEndWithTheChangeClass(t *testing.T) {
	classes := 0
	for name, crd := range definitions(t) {
		if filepath.Base(name) != "operator.openshift.io_networks.yaml" {
			continue
		}
		version, _ := list(crd, "spec", "versions")[0].(map[string]any)
		schema := object(version, "schema", "openAPIV3Schema")
		for _, f := range networks.Registry().Fields("") {
			s := at(schema, f.Path)
			description, described := s["description"].(string)
			if f.Path == "spec.defaultNetwork" || !described {
				continue // what is below it has classes of its own; a key of a map has no description
			}
			classes++
			if !strings.HasSuffix(description, "\n"+sentence(f)) {
				t.Errorf("%s: the description is %q, want the end %q: run hack/generate.sh", f.Path, description, sentence(f))
			}
		}
	}
	if classes < 30 {
		t.Errorf("only %d fields have a class", classes)
	}
}

// at returns the schema of a field by its path without indexes.
func at(schema map[string]any, path string) map[string]any {
	for _, name := range strings.Split(path, ".") {
		if items := object(schema, "items"); items != nil {
			schema = items
		}
		schema = object(schema, "properties", name)
	}
	return schema
}

func TestChangeClassSentence(t *testing.T) {
	for want, f := range map[string]provider.Field{
		"Change class: live; disruption: none.":                                             {Class: provider.Live, Disruption: provider.NoDisruption},
		"Change class: rolling, once acknowledged; disruption: outage.":                     {Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true},
		"Change class: rolling, once acknowledged if it becomes false; disruption: outage.": {Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, When: "it becomes false"},
		"Change class: migration, or once acknowledged; disruption: connections reset.":     {Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true},
		"Change class: forbidden; rolling where a pool grows (A) to a shorter prefix that begins at the same address; disruption: outage; pods restart where a pool grows.": {Class: provider.Forbidden, Disruption: provider.Outage, Grows: "A"},
	} {
		if got := sentence(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCompletionIsIdempotent tests that the command is idempotent.
func TestCompletionIsIdempotent(t *testing.T) {
	for name := range definitions(t) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := completed(content, map[string]bool{})
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(content) {
			t.Errorf("%s changes", name)
		}
	}
}

func TestRuleWithoutCRDIsAnError(t *testing.T) {
	placed := map[string]bool{}
	if err := allPlaced(placed); err == nil || !strings.Contains(err.Error(), "which no CRD has") {
		t.Error(err)
	}
}

// TestNoRuleIsWrittenInAComment keeps the rules in the table, where their sentences have tests and other readers.
func TestNoRuleIsWrittenInAComment(t *testing.T) {
	names, err := filepath.Glob("../../api/*/v1/*.go")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			if strings.Contains(line, "XValidation") || strings.Contains(line, "// "+sentenceBegin) {
				t.Errorf("%s:%d: write it into api/rules, or into the table of fields", name, i+1)
			}
		}
	}
}

package crdcheck

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const definition = `
metadata: {name: things.example.org}
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!has(self.low) || self.low <= self.high", message: "low is above high"}
            properties:
              high: {type: integer, default: 10, maximum: 100}
              low: {type: integer}
              words: {type: array, items: {type: string, enum: [One, Two]}, x-kubernetes-list-type: set}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

func check(t *testing.T, object string) string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(definition), &crd); err != nil {
		t.Fatal(err)
	}
	c, err := New(&crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	errs, err := c.Check(t.Context(), []byte(object))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range errs {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

func TestObjectsAreCheckedLikeInTheAPIServer(t *testing.T) {
	for _, c := range []struct{ object, message string }{
		{"spec: {low: 3, words: [One], free: {any: 1}}", ""},
		{"{}", "spec: Required value"},
		{"spec: {wrods: [One]}", "spec.wrods: Forbidden: there is no such field; did you mean words?"},
		{"spec: {something: 1}", "there is no such field; known fields are free, high, low, words"},
		{"spec: {high: 101}", "spec.high: Invalid value: 101: spec.high in body should be less than or equal to 100"},
		{"spec: {words: [three]}", `spec.words[0]: Unsupported value: "three": supported values: "One", "Two"`},
		{"spec: {words: [One, One]}", `spec.words[1]: Duplicate value: "One"`},
		{"spec: {low: 11}", "low is above high"},
		{"spec: {high: yes}", "spec.high: Invalid value"},
	} {
		if got := check(t, c.object); c.message == "" && got != "" || !strings.Contains(got, c.message) {
			t.Errorf("%s: got %q, want %q", c.object, got, c.message)
		}
	}
	if got := check(t, "spec: {x: 1, y: 2, high: 101}"); strings.Count(got, "\n") != 2 {
		t.Errorf("not all errors at once: %q", got)
	}
}

func TestMissingVersion(t *testing.T) {
	if _, err := New(&apiextensionsv1.CustomResourceDefinition{}, "v1"); err == nil {
		t.Error("no error")
	}
}

func TestLineOfAField(t *testing.T) {
	text := []byte("kind: Thing\nspec:\n  high: 1\n  words:\n  - One\n  - Two\n")
	for path, want := range map[string]int{"spec.high": 3, "spec.words[1]": 6, "spec.words[7]": 4, "spec.low": 2, "": 1, "status": 1} {
		if got := ReadLines(text).Of(path); got != want {
			t.Errorf("%q is on line %d, want %d", path, got, want)
		}
	}
	if got := ReadLines([]byte("a: [")).Of("a"); got != 0 {
		t.Errorf("line %d of what is no YAML", got)
	}
}

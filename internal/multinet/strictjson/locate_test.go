package strictjson

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestErrorsHaveThePositionOfTheirKey(t *testing.T) {
	const text = "{\n  \"plugins\": [\n    {\"type\": \"a\"},\n    {\"type\": \"ä\", \"ipam\": {\"x\": 1, \"xy\": [1, {\"z\": 2}]}}\n  ],\n  \"a.b\": 1\n}"
	for path, want := range map[string]string{
		".plugins":                 "2:3",
		".plugins[1]":              "4:5",
		".plugins[1].type":         "4:6",
		".plugins[1].ipam.xy":      "4:36", // and not x, which only begins like it; columns are characters
		".plugins[1].ipam.xy[1].z": "4:47",
		".plugins[0].master":       "3:5", // a key that is missing: the object
		".name":                    "1:1",
		".a.b":                     "6:3", // a key with a dot
	} {
		errs := field.ErrorList{{Field: "spec.config" + path, Detail: "is wrong"}}
		Locate(text, field.NewPath("spec", "config"), errs)
		if got := strings.TrimPrefix(errs[0].Detail, "is wrong, at "); got != want {
			t.Errorf("%s: %q, want %q", path, errs[0].Detail, want)
		}
	}
	errs := field.ErrorList{{Field: "spec.config", Detail: "x"}, {Field: "metadata.name", Detail: "x"}}
	for range 100 {
		errs = append(errs, &field.Error{Field: "spec.config.plugins[1]", Detail: "x"})
	}
	Locate(text, field.NewPath("spec", "config"), errs)
	if errs[0].Detail != "x" || errs[1].Detail != "x" || errs[33].Detail == "x" || errs[34].Detail != "x" {
		t.Errorf("errors about the whole text, and those beyond the bound, have a place: %v", errs[:35])
	}
}

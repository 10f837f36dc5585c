package strictjson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestParseKeepsKeysThatDifferInCase(t *testing.T) {
	v, errs := Parse(`{"master":"a","Master":"b","ma\u017fter":"c","n":[1,{"x":null}]}`, field.NewPath("x"))
	o, ok := v.(*Object)
	if len(errs) > 0 || !ok {
		t.Fatalf("%v, %v", v, errs)
	}
	if diff := cmp.Diff([]string{"master", "Master", "maſter", "n"}, o.Keys); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"master": "a", "Master": "b", "maſter": "c", "n": []any{json.Number("1"), map[string]any{"x": nil}}}
	if diff := cmp.Diff(want, o.Map()); diff != "" {
		t.Error(diff)
	}
}

func TestParseReportsEveryRepeatedKeyAlsoIfItIsEscaped(t *testing.T) {
	_, errs := Parse(`{"a":1,"\u0061":2,"b":[{"c":1,"c":2}]}`, field.NewPath("x"))
	var got []string
	for _, e := range errs {
		got = append(got, e.Error())
	}
	if diff := cmp.Diff([]string{`x.a: Duplicate value: "a": is a repeated key; remove one of them`,
		`x.b[0].c: Duplicate value: "c": is a repeated key; remove one of them`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	text := strings.Repeat(`{"a":`, 1000) + "{" + strings.Repeat(`"b":1,`, 10000) + `"b":1}` + strings.Repeat("}", 1000)
	v, errs := Parse(text, field.NewPath("x"))
	if v == nil || len(errs) != MaxErrors {
		t.Errorf("%d errors", len(errs))
	}
}

func TestBoundKeepsTheFirstErrors(t *testing.T) {
	at, long := field.NewPath("x"), field.NewPath(strings.Repeat("k", 10*maxField))
	var errs field.ErrorList
	for range MaxErrors {
		errs = append(errs, field.Forbidden(long, "is wrong"))
	}
	if got := Bound(errs, at); len(got) != MaxErrors || len(got[0].Field) > maxField+len("...") {
		t.Errorf("%d errors with paths of %d bytes", len(got), len(got[0].Field))
	}
	got := Bound(append(errs, field.Forbidden(at, "last"), field.Forbidden(at, "last")), at)
	if len(got) != MaxErrors+1 || !strings.Contains(got[MaxErrors].Error(), "x: Forbidden: has further errors") {
		t.Errorf("%d errors, the last is %v", len(got), got[len(got)-1])
	}
}

func TestInvalidJSONIsRefusedWithItsPosition(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "ends too early, at 1:1",
		"[\n 1 2]":                      "invalid character '2' after array element, at 2:4",
		`{} {}`:                         "text after the JSON value, at 1:4",
		strings.Repeat("[", 20000):      "is not valid JSON",
		"{\"a\": \"\xff\x00\"} garbage": "is not valid JSON",
	} {
		v, errs := Parse(text, field.NewPath("x"))
		if v != nil || len(errs) != 1 || !strings.Contains(errs[0].Detail, want) {
			t.Errorf("%.20q: %v, %v; want %q", text, v, errs, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`[{"name":"a","ips":["10.0.0.1"]}]`)
	f.Add(`{"a":{"a":{}},"a":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, errs := Parse(text, field.NewPath("x"))
		if !json.Valid([]byte(text)) && (v != nil || len(errs) == 0) {
			t.Errorf("%q is not JSON, and gives %v", text, v)
		}
	})
}

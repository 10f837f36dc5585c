package crdcheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	// wrongType is how the schema validator reports a value of the wrong type, which it does not always name.
	wrongType = regexp.MustCompile(`in body must be of type (\w+): "(\w*)"$`)
	// inBody is what it writes in front of other sentences, and pattern a sentence with a regular expression in it.
	inBody = regexp.MustCompile(`^\S+ in body `)
	// outOfFormat is how it reports a number that its format cannot hold.
	outOfFormat = regexp.MustCompile(`Checked value must be of type integer with format u?int(\d+) in (\S+)$`)
	pattern     = regexp.MustCompile(`^should match '.*'$`)
)

// placed gives the errors of the format of a number their field, which the schema validator has in the sentence alone, and drops those
// of values that are no whole numbers, which are reported as such already.
func placed(errs field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		if m := outOfFormat.FindStringSubmatch(e.Detail); m != nil {
			if slices.ContainsFunc(errs, func(o *field.Error) bool { return o.Field == m[2] }) {
				continue
			}
			e = field.Invalid(field.NewPath(m[2]), nil, "is out of the range of the field, a number of "+m[1]+" bits")
		}
		out = append(out, e)
	}
	return out
}

// types maps JSON types to their names in messages.
var types = map[string]string{
	"string": "a string", "integer": "a whole number without quotes", "number": "a number", "boolean": "true or false",
	"array": "a list", "object": "a mapping", "null": "null",
}

// Plain returns the message of an error without internals: no regular expression, no CEL rule and no name of a Go type. It does
// not repeat the field.
func Plain(e *field.Error) string {
	if m := wrongType.FindStringSubmatch(e.Detail); m != nil {
		return typeSentence(m[1], m[2])
	}
	detail := inBody.ReplaceAllString(e.Detail, "")
	switch {
	case pattern.MatchString(detail), strings.HasPrefix(detail, "failed rule:"):
		return "is not in the form that this field takes; kubectl explain describes it"
	case detail == "" && e.Type == field.ErrorTypeRequired:
		return "is required"
	case detail == "" && e.Type == field.ErrorTypeDuplicate:
		return "is in the list twice; remove one"
	case detail == "":
		return strings.ToLower(e.Type.String())
	}
	return detail
}

func typeSentence(want, found string) string {
	if strings.HasPrefix(found, "float") {
		found = "number"
	}
	if strings.HasPrefix(want, "int") || strings.HasPrefix(want, "uint") {
		want = "integer"
	}
	if found == "number" && want == "integer" {
		return "a number with a fraction, or one that is too large, is not allowed here; write a whole number"
	}
	if found == "" {
		return "must be " + types[want]
	}
	got, ok := types[found]
	if !ok {
		got = "a " + found
	}
	switch found {
	case "integer", "number":
		got = "a number"
	case "boolean":
		got = "a boolean"
	}
	return fmt.Sprintf("%s is not allowed here; write %s", got, types[want])
}

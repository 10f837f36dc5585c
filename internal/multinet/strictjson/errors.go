package strictjson

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxErrors is the number of errors of one text that are reported with their places: a text can have thousands, each with a long path.
const MaxErrors = 32

// maxField is the maximum length of the path of an error in bytes.
const maxField = 512

// Bound returns at most the first MaxErrors errors of the text at a path, with paths that are not too long, and one that reports that there are others.
func Bound(errs field.ErrorList, at *field.Path) field.ErrorList {
	if len(errs) > MaxErrors {
		errs = append(errs[:MaxErrors:MaxErrors], field.Forbidden(at, "has further errors, which are reported when those before are corrected"))
	}
	for _, e := range errs {
		if len(e.Field) > maxField {
			e.Field = strings.ToValidUTF8(e.Field[:maxField], "") + "..."
		}
	}
	return errs
}

// WrongType is the error of a value of another JSON type than want, for example "a string".
func WrongType(at *field.Path, value any, want string) *field.Error {
	kind := "a number"
	switch value.(type) {
	case nil:
		kind = "null"
	case string:
		kind = "a string"
	case bool:
		kind = "true or false"
	case []any:
		kind = "a list"
	case *Object:
		kind = "an object"
	}
	return field.Forbidden(at, fmt.Sprintf("is %s; must be %s", kind, want))
}

// UnknownKey returns the error of an unknown key of the object at a path.
func UnknownKey(at *field.Path, key string, known []string) *field.Error {
	for _, name := range known {
		if strings.EqualFold(name, key) {
			return field.Invalid(at, Short(key), fmt.Sprintf("is not a key; did you mean %s?", name))
		}
	}
	return field.Invalid(at, Short(key), "is not a key; must be one of "+strings.Join(slices.Sorted(slices.Values(known)), ", "))
}

// Short returns a value in the form in which errors show it, at most 64 bytes.
func Short(value string) string {
	const most = 64
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "..."
}

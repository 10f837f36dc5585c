package manifest

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dropUnset removes nulls and the empty maps of structs held by value from content, the tree of typed: Go cannot leave
// such structs unset, so that an empty one means unset. The exception is the label selector: an empty one selects
// everything.
func dropUnset(typed any, content map[string]any) {
	pruneStruct(reflect.ValueOf(typed).Elem(), content)
}

func prune(v reflect.Value, content any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if tree, ok := content.(map[string]any); ok && !marshals(v) {
			pruneStruct(v, tree)
		}
	case reflect.Slice:
		list, ok := content.([]any)
		for i := 0; ok && i < len(list) && i < v.Len(); i++ {
			prune(v.Index(i), list[i])
		}
	case reflect.Map:
		tree, ok := content.(map[string]any)
		for _, key := range v.MapKeys() {
			if ok && key.Kind() == reflect.String {
				prune(v.MapIndex(key), tree[key.String()])
			}
		}
	}
}

func pruneStruct(v reflect.Value, tree map[string]any) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			prune(value, tree)
			continue
		}
		content, ok := tree[name]
		if !ok {
			continue
		}
		prune(value, content)
		if content == nil || isUnset(value, content, strings.Contains(options, "omitempty")) {
			delete(tree, name)
		}
	}
}

// isUnset reports whether a struct held by value counts as unset. One that is no map in JSON is a number or a string (a
// port), and is unset if it may be and has no value.
func isUnset(v reflect.Value, content any, mayBeUnset bool) bool {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[metav1.LabelSelector]() {
		return false
	}
	return isEmptyMap(content) || mayBeUnset && v.IsZero()
}

// marshals reports whether a value has its own JSON encoding (quantities, times, free-form JSON), which is not changed.
func marshals(v reflect.Value) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return v.Type().Implements(marshaler) || reflect.PointerTo(v.Type()).Implements(marshaler)
}

func isEmptyMap(content any) bool {
	tree, ok := content.(map[string]any)
	return ok && len(tree) == 0
}

// dropNulls removes the nulls of a tree, in maps at any depth. Lists keep their length.
func dropNulls(content any) {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			if value == nil {
				delete(content, key)
				continue
			}
			dropNulls(value)
		}
	case []any:
		for _, value := range content {
			dropNulls(value)
		}
	}
}

package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// dropped are annotations that contain a copy of the object as a string.
var dropped = []string{"kubectl.kubernetes.io/last-applied-configuration"}

// Object returns a copy of a Kubernetes object, or of any JSON tree, without possible secrets: it checks values of
// environment variables, ConfigMaps and annotations by their names, and every string by its form. It drops managedFields.
// Of a Secret it keeps only kind and name.
func Object(tree map[string]any) map[string]any {
	if secret(tree) {
		meta, _ := tree["metadata"].(map[string]any)
		return map[string]any{"apiVersion": tree["apiVersion"], "kind": tree["kind"], "metadata": map[string]any{"namespace": meta["namespace"], "name": meta["name"]}}
	}
	out, _ := walk("", tree).(map[string]any)
	return out
}

func secret(tree map[string]any) bool {
	kind, _ := tree["kind"].(string)
	version, _ := tree["apiVersion"].(string)
	return version == "v1" && (kind == "Secret" || kind == "SecretList")
}

// named are fields whose members have names that users choose.
var named = []string{"data", "stringData", "binaryData", "annotations", "labels"}

// walk copies the value of a field.
func walk(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return walkMap(field, v)
	case []any:
		return walkList(field, v)
	case string:
		return text(v)
	}
	return value
}

func walkMap(field string, tree map[string]any) map[string]any {
	out := make(map[string]any, len(tree))
	chosen := slices.Contains(named, field)
	name, pair := tree["name"].(string)
	for key, value := range tree {
		if key == "managedFields" || field == "annotations" && slices.Contains(dropped, key) {
			continue
		}
		text, isText := value.(string)
		switch {
		case isText && chosen:
			out[key] = keyed(key, text)
		case isText && pair && key == "value":
			out[key] = keyed(name, text)
		case isText && secretName(key) && !strings.EqualFold(key, "token") && !structural(key):
			out[key] = Value(key, text)
		default:
			out[key] = walk(key, value)
		}
		if nested, ok := value.(map[string]any); ok && secret(nested) {
			out[key] = Object(nested)
		}
	}
	return out
}

// structural reports whether a key is a field of Kubernetes that only looks like the name of a secret.
func structural(key string) bool {
	return slices.Contains([]string{"sessionAffinity", "secret", "key"}, key)
}

// walkList copies a list. The arguments of a command are checked together, since an option may precede its value.
func walkList(field string, list []any) []any {
	out := make([]any, len(list))
	previous := ""
	for i, value := range list {
		text, isText := value.(string)
		switch {
		case isText && strings.HasPrefix(previous, "-") && !strings.Contains(previous, "=") && secretName(previous) && !strings.HasPrefix(text, "-") && !pathLike(text):
			out[i] = Hidden
		default:
			out[i] = walk(field, value)
		}
		if nested, ok := value.(map[string]any); ok && secret(nested) {
			out[i] = Object(nested)
		}
		previous = text
	}
	return out
}

// keyed is like Value for a value that may be a document itself.
func keyed(name, value string) string {
	if secretName(name) && !harmless(value) {
		return Hidden
	}
	return text(value)
}

// text is like Text, but decodes JSON to distinguish names and values.
func text(value string) string {
	if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "{") {
		var tree map[string]any
		if err := json.Unmarshal([]byte(trimmed), &tree); err == nil {
			return jsonText(walkDocument(tree))
		}
	}
	return Text(value)
}

// walkDocument copies a document in which users have chosen every name.
func walkDocument(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if s, ok := member.(string); ok {
				out[key] = keyed(key, s)
			} else if secretName(key) && !structural(key) && member != nil {
				if _, flag := member.(bool); flag {
					out[key] = member
				} else {
					out[key] = hideAll(member)
				}
			} else {
				out[key] = walkDocument(member)
			}
		}
		return out
	case []any:
		return walkList("", v)
	case string:
		return Text(v)
	}
	return value
}

// hideAll hides every string below a secret name.
func hideAll(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = hideAll(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = hideAll(v[i])
		}
		return out
	case string:
		return Hidden
	case float64:
		return Hidden
	}
	return value
}

func jsonText(tree any) string {
	raw, err := json.Marshal(tree)
	if err != nil {
		return fmt.Sprintf("%q", Hidden)
	}
	return string(raw)
}

package pipeline

import (
	"strconv"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// lookup finds the values of fields by the paths in field errors. The zero lookup has no fields.
type lookup struct{ root any }

// lookupIn returns the lookup of a specification, whose fields are below "spec"; the zero lookup for nil.
func lookupIn(spec *operatorv1.NetworkSpec) lookup {
	if spec == nil {
		return lookup{}
	}
	return lookup{root: map[string]any{"spec": plain(spec)}}
}

// value returns the value of a field as plain JSON, or nil if there is none. Paths have the form
// spec.clusterNetwork[0].cidr or spec.kubeProxyConfig.proxyArguments[proxy-mode][0]. Mappings in it are not empty: encoding adds those of structs that are not set.
func (l lookup) value(path string) any {
	v := l.root
	for path != "" && v != nil {
		var step string
		step, path = nextStep(path)
		v = child(v, step)
	}
	return withoutEmpty(v)
}

// withoutEmpty returns plain JSON without the empty mappings inside of it.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			inner = withoutEmpty(inner)
			if m, ok := inner.(map[string]any); !ok || len(m) > 0 {
				out[key] = inner
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = withoutEmpty(inner)
		}
		return out
	}
	return v
}

// nextStep splits the first field, index or key off a path. rest is always shorter than path.
func nextStep(path string) (step, rest string) {
	if path[0] == '[' {
		if end := strings.IndexByte(path, ']'); end > 0 {
			return path[1:end], strings.TrimPrefix(path[end+1:], ".")
		}
		return path[1:], ""
	}
	end := strings.IndexAny(path, ".[")
	switch {
	case end < 0:
		return path, ""
	case path[end] == '.':
		return path[:end], path[end+1:]
	}
	return path[:end], path[end:]
}

func child(v any, step string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

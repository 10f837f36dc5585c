package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/crds"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// network is the schema of the chart of the Network: the schema of its spec in the CRD, with all overrides of workloads.
func network() (map[string]any, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Spec.Group != operatorv1.GroupVersion.Group || c.Spec.Names.Kind != "Network" {
			continue
		}
		text, err := json.Marshal(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
		if err != nil {
			return nil, err
		}
		spec := map[string]any{}
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, err
		}
		spec = clean(spec).(map[string]any)
		spec["default"] = map[string]any{"clusterNetwork": []any{map[string]any{"cidr": "10.128.0.0/14", "hostPrefix": 23}}, "serviceNetwork": []any{"10.96.0.0/16"}, "defaultNetwork": map[string]any{"type": "Flannel"}}
		return map[string]any{
			"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
			"properties": map[string]any{
				"global":      map[string]any{"type": "object", "description": "Values of a parent chart. None is used."},
				"annotations": map[string]any{"type": "object", "default": map[string]any{}, "additionalProperties": map[string]any{"type": "string"}, "description": "Annotations of the Network, for example the acknowledgement of a change."},
				"spec":        spec,
			},
		}, nil
	}
	return nil, fmt.Errorf("there is no CRD of kind Network")
}

// clean makes a JSON schema of one of a CRD: without Kubernetes' own keywords, and with unknown fields refused, as by the API
// server's strict validation.
func clean(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		out := map[string]any{}
		preserve, integerOrString := s["x-kubernetes-preserve-unknown-fields"] == true, s["x-kubernetes-int-or-string"] == true
		for key, value := range s {
			if strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" || key == "format" {
				continue
			}
			if key == "default" || key == "enum" {
				out[key] = value
				continue
			}
			out[key] = clean(value)
		}
		if _, isSchema := s["type"].(string); isSchema && s["properties"] != nil && s["additionalProperties"] == nil && !preserve {
			out["additionalProperties"] = false
		}
		if integerOrString {
			delete(out, "type")
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, v := range s {
			out[i] = clean(v)
		}
		return out
	}
	return schema
}

// value is one that users set.
type value struct {
	path, description string
	// standard is its default, if hasStandard.
	standard    any
	hasStandard bool
	// inner is true for a field of a value with a default as a whole, and of the elements of a list: values.yaml does not have its default.
	inner bool
}

// documented are the values of a schema, in the order of their names: its leaves, and objects with a default as a whole with their fields.
func documented(schema map[string]any, prefix string, inner bool) []value {
	properties, _ := schema["properties"].(map[string]any)
	var out []value
	for _, name := range sorted(properties) {
		p, _ := properties[name].(map[string]any)
		if name == "global" && prefix == "" {
			continue
		}
		v := value{path: prefix + name, inner: inner}
		v.description, _ = p["description"].(string)
		v.standard, v.hasStandard = p["default"]
		fields := documented(p, v.path+".", inner || v.hasStandard)
		if items, isList := p["items"].(map[string]any); isList {
			fields = documented(items, v.path+"[].", true)
		}
		if v.hasStandard || len(fields) == 0 || p["items"] != nil {
			out = append(out, v)
		}
		out = append(out, fields...)
	}
	return out
}

// values writes the defaults of a schema, each below its description.
func values(schema map[string]any) ([]byte, error) {
	var out bytes.Buffer
	err := writeValues(&out, schema, "")
	return out.Bytes(), err
}

func writeValues(out *bytes.Buffer, schema map[string]any, indent string) error {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range sorted(properties) {
		p, _ := properties[name].(map[string]any)
		standard, has := p["default"]
		_, nested := p["properties"]
		if !has && !nested {
			continue
		}
		if description, _ := p["description"].(string); description != "" {
			fmt.Fprintf(out, "%s# %s\n", indent, strings.ReplaceAll(strings.TrimSpace(description), "\n", "\n"+indent+"# "))
		}
		if !has {
			fmt.Fprintf(out, "%s%s:\n", indent, name)
			if err := writeValues(out, p, indent+"  "); err != nil {
				return err
			}
			continue
		}
		text, err := yaml.Marshal(map[string]any{name: standard})
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			out.WriteString(indent + line)
		}
	}
	return nil
}

// readme documents the values of a chart from its schema.
func readme(name string, schema map[string]any) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n| value | meaning | default |\n|---|---|---|\n", name)
	for _, v := range documented(schema, "", false) {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", v.path, strings.Join(strings.Fields(strings.ReplaceAll(v.description, "|", "\\|")), " "), v.cell())
	}
	return out.Bytes()
}

// cell is the default of a value in a table.
func (v value) cell() string {
	if !v.hasStandard {
		return ""
	}
	standard, _ := json.Marshal(v.standard)
	text := "`" + strings.ReplaceAll(string(standard), "|", "\\|") + "`"
	if len(text) > 100 {
		return "see values.yaml"
	}
	return text
}

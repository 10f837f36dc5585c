// Package crdcheck checks an object against its CRD without an API server: unknown and repeated fields, the OpenAPI schema,
// list types and CEL rules, with the libraries that the API server itself uses. It is pure.
package crdcheck

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// The API server's limits for the cost of rules, of k8s.io/apiserver/pkg/apis/cel.
const (
	perRule   = 1_000_000
	perObject = 10_000_000
)

// The rules of errors, as the origin of a field error.
const (
	RuleUnknownField = "unknown-field"
	RuleType         = "type"
	RuleMetadata     = "metadata"
	RuleSchema       = "schema"
)

// Checker checks objects of one version of a CRD.
type Checker struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// New returns the checker of a CRD's version.
func New(definition *apiextensionsv1.CustomResourceDefinition, version string) (*Checker, error) {
	for _, v := range definition.Spec.Versions {
		if v.Name != version || v.Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			return nil, fmt.Errorf("CRD %s: %w", definition.Name, err)
		}
		return forSchema(definition.Name, &internal)
	}
	return nil, fmt.Errorf("CRD %s has no version %s with a schema", definition.Name, version)
}

func forSchema(name string, props *apiextensions.JSONSchemaProps) (*Checker, error) {
	structural, err := schema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", name, err)
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", name, err)
	}
	return &Checker{structural: structural, schema: validator, rules: cel.NewValidator(structural, true, perRule)}, nil
}

// Check returns all errors of an object, given in YAML or JSON. Input that cannot be decoded, or has a duplicate field, is an error.
// Rules are evaluated only for objects that the schema accepts, as in the API server.
func (c *Checker) Check(ctx context.Context, document []byte) (field.ErrorList, error) {
	encoded, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return c.check(ctx, object), nil
}

// CheckObject is Check for a decoded object, which it does not modify.
func (c *Checker) CheckObject(ctx context.Context, object map[string]any) field.ErrorList {
	return c.check(ctx, runtime.DeepCopyJSON(object))
}

func (c *Checker) check(ctx context.Context, object map[string]any) field.ErrorList {
	var errs field.ErrorList
	unknown := pruning.PruneWithOptions(object, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Forbidden(field.NewPath(path), "there is no such field"+c.suggestion(path)).WithOrigin(RuleUnknownField))
	}
	errs = append(errs, metadata(object)...)
	defaulting.Default(object, c.structural)
	invalid := validation.ValidateCustomResource(nil, object, c.schema)
	invalid = append(invalid, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	if len(invalid) == 0 {
		invalid, _ = c.rules.Validate(ctx, nil, c.structural, object, nil, perObject)
	}
	return append(errs, placed(invalid)...)
}

// ParsePath splits a field path as it is in errors, such as spec.hosts[3].name, into keys and indices.
func ParsePath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

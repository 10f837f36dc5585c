// Command mkcrds completes the CRDs that controller-gen writes: with the validation rules of api/rules, and with the class
// of each field from the tables of networks.
//
//	go run ./hack/mkcrds DIRECTORY...
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mkcrds: %v\n", err)
		os.Exit(1)
	}
}

func run(directories []string) error {
	var names []string
	for _, directory := range directories {
		found, err := filepath.Glob(filepath.Join(directory, "*.openshift.io_*.yaml"))
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	placed := map[string]bool{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if content, err = completed(content, placed); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return allPlaced(placed)
}

// allPlaced reports rules whose place no CRD has.
func allPlaced(placed map[string]bool) error {
	for _, r := range rules.All() {
		for _, at := range r.At {
			if !placed[at] {
				return fmt.Errorf("rule %s is for %q, which no CRD has", r.Sentence.Rule(), at)
			}
		}
	}
	return nil
}

// completed returns a CRD with its rules and the classes of its fields, and records the places it has. It is idempotent.
func completed(content []byte, placed map[string]bool) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return nil, err
	}
	kind, versions := text(crd, "spec", "names", "kind"), list(crd, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		root := object(version, "schema", "openAPIV3Schema")
		c := completion{kind: kind, placed: placed}
		if kind == "Network" || kind == "NetworkConfig" {
			c.fields = networks.Registry().Fields("")
		}
		c.walk("", root)
	}
	out, err := yaml.Marshal(crd)
	return append([]byte("---\n"), out...), err
}

// completion completes the schema of one kind.
type completion struct {
	kind   string
	placed map[string]bool
	fields []provider.Field
}

func (c completion) walk(path string, schema map[string]any) {
	at := strings.TrimSpace(c.kind + " " + path)
	c.placed[at] = true
	c.validate(at, schema)
	c.classify(path, schema)
	for name, below := range object(schema, "properties") {
		if s, ok := below.(map[string]any); ok {
			c.walk(strings.TrimPrefix(path+"."+name, "."), s)
		}
	}
	if items := object(schema, "items"); items != nil {
		c.walk(path+"[]", items)
	}
}

// validate adds the rules of a place.
func (c completion) validate(at string, schema map[string]any) {
	all := list(schema, "x-kubernetes-validations")
	for _, r := range rules.All() {
		for _, place := range r.At {
			if place == at {
				all = add(all, validation(r))
			}
		}
	}
	if len(all) > 0 {
		schema["x-kubernetes-validations"] = all
	}
}

// add appends a rule that is not among others yet.
func add(all []any, rule map[string]any) []any {
	for _, other := range all {
		if o, ok := other.(map[string]any); ok && o["rule"] == rule["rule"] {
			return all
		}
	}
	return append(all, rule)
}

func validation(r rules.Rule) map[string]any {
	out := map[string]any{"rule": r.Condition()}
	if r.Field != "" {
		out["fieldPath"] = r.Field
	}
	if expression := r.Expression(); expression != "" {
		out["messageExpression"] = expression
	} else {
		out["message"] = r.Fixed()
	}
	return out
}

// classify ends the description of a field that has an entry in the tables with the class of its changes.
func (c completion) classify(path string, schema map[string]any) {
	description, ok := schema["description"].(string)
	if !ok || strings.HasSuffix(path, "[]") || strings.Contains(description, sentenceBegin) {
		return // the elements of a list have the class of the list
	}
	path = strings.ReplaceAll(path, "[]", "")
	for _, f := range c.fields {
		if f.Path == path && path != "spec.defaultNetwork" {
			schema["description"] = description + "\n" + sentence(f)
		}
	}
}

const sentenceBegin = "Change class: "

// sentence returns the sentence about changes of a field for its description.
func sentence(f provider.Field) string {
	class, disruption := string(f.Class), string(f.Disruption)
	switch {
	case f.Acknowledge && f.Class == provider.Migration:
		class += ", or once acknowledged"
	case f.Acknowledge:
		class += ", once acknowledged"
	}
	if f.When != "" {
		class += " if " + f.When
	}
	if f.Grows != "" {
		class += fmt.Sprintf("; %s where a pool grows (%s) to a shorter prefix that begins at the same address", provider.Rolling, f.Grows)
		disruption += fmt.Sprintf("; %s where a pool grows", provider.PodsRestart)
	}
	return fmt.Sprintf("%s%s; disruption: %s.", sentenceBegin, class, disruption)
}

// object returns the object at a path of names; nil if there is none.
func object(at map[string]any, path ...string) map[string]any {
	for _, name := range path {
		at, _ = at[name].(map[string]any)
	}
	return at
}

func list(at map[string]any, path ...string) []any {
	last := len(path) - 1
	all, _ := object(at, path[:last]...)[path[last]].([]any)
	return all
}

func text(at map[string]any, path ...string) string {
	last := len(path) - 1
	s, _ := object(at, path[:last]...)[path[last]].(string)
	return s
}

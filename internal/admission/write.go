package admission

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/provider"
)

const head = "# Written by hack/generate.sh from the table of fields; do not edit. See docs/safety.md.\n"

// Write writes all policies and bindings as YAML.
func Write(w io.Writer, fields []provider.Field, operands provider.Operands) error {
	policies, bindings := Policies(fields, operands)
	var all []any
	for i := range policies {
		all = append(all, &policies[i])
	}
	for i := range bindings {
		all = append(all, &bindings[i])
	}
	return write(w, head, all)
}

// write writes objects, which are pointers to Kubernetes types, as YAML after a comment.
func write(w io.Writer, comment string, all []any) error {
	if _, err := io.WriteString(w, comment); err != nil {
		return err
	}
	for i, o := range all {
		u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		delete(u, "status")
		if spec, ok := u["spec"].(map[string]any); ok && len(spec) == 0 {
			delete(u, "spec")
		}
		if meta, ok := u["metadata"].(map[string]any); ok {
			delete(meta, "creationTimestamp")
		}
		raw, err := yaml.Marshal(u)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if i > 0 {
			raw = append([]byte("---\n"), raw...)
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}

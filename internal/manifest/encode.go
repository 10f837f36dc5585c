package manifest

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Encode returns objects as a stream of YAML documents in the given order, with sorted keys. The result is
// deterministic.
func Encode(objs []Object) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objs {
		doc, err := yaml.Marshal(o.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", o.Key(), err)
		}
		out.WriteString("---\n")
		out.Write(doc)
	}
	return out.Bytes(), nil
}

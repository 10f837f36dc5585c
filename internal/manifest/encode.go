package manifest

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Encode writes objects as a stream of YAML documents, in the given order, keys sorted: the same objects always
// give the same bytes.
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

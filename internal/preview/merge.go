package preview

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// MergePatch returns the JSON merge patch that turns one specification into another.
func MergePatch(from, to *operatorv1.NetworkSpec) (map[string]any, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	raw, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare specifications: %w", err)
	}
	patch := map[string]any{}
	return patch, json.Unmarshal(raw, &patch)
}

// Merge applies a JSON merge patch to a specification.
func Merge(spec *operatorv1.NetworkSpec, patch map[string]any) error {
	before, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, raw)
	if err != nil {
		return fmt.Errorf("patch specification: %w", err)
	}
	*spec = operatorv1.NetworkSpec{}
	return json.Unmarshal(after, spec)
}

package networkconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Differences returns the sorted paths in Network of the fields in which two specifications differ. It compares only
// fields that a NetworkConfig can express. Lists of different lengths are one difference.
func Differences(a, b *operatorv1.NetworkSpec) ([]string, error) {
	left, err := expressible(a)
	if err != nil {
		return nil, err
	}
	right, err := expressible(b)
	if err != nil {
		return nil, err
	}
	return appendDifferences(nil, "spec", left, right), nil
}

// expressible returns the part of a specification that a NetworkConfig can express, as decoded JSON.
func expressible(spec *operatorv1.NetworkSpec) (any, error) {
	part := operatorv1.NetworkSpec{
		ClusterNetwork:     spec.ClusterNetwork,
		ServiceNetwork:     spec.ServiceNetwork,
		DefaultNetwork:     spec.DefaultNetwork,
		AdditionalNetworks: spec.AdditionalNetworks,
		DeployKubeProxy:    spec.DeployKubeProxy,
		KubeProxyConfig:    spec.KubeProxyConfig,
	}
	encoded, err := json.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("encode specification: %w", err)
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return nil, fmt.Errorf("decode specification: %w", err)
	}
	return decoded, nil
}

func appendDifferences(found []string, path string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return appendMapDifferences(found, path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				found = appendDifferences(found, fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
			}
			return found
		}
	}
	if reflect.DeepEqual(a, b) {
		return found
	}
	return append(found, path)
}

func appendMapDifferences(found []string, path string, a, b map[string]any) []string {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		found = appendDifferences(found, path+"."+key, a[key], b[key])
	}
	return found
}

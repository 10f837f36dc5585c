package store

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// pool is a version of an IPPool.
type pool struct {
	// version is empty if the object does not exist.
	version     string
	allocations map[string]whereabouts.Allocation
}

func (s *Store) readPool(ctx context.Context, p whereabouts.Pool) (pool, error) {
	u, err := s.get(ctx, KindPool, p.Name())
	if isNotFound(err) {
		return pool{}, nil
	}
	if err != nil {
		return pool{}, fmt.Errorf("read IPPool %s: %w", p.Name(), err)
	}
	allocations, err := ReadPool(u)
	return pool{version: u.GetResourceVersion(), allocations: allocations}, err
}

// ReadPool returns the allocations of an IPPool by offset.
func ReadPool(u *unstructured.Unstructured) (map[string]whereabouts.Allocation, error) {
	var read struct {
		Spec struct {
			Allocations map[string]whereabouts.Allocation `json:"allocations"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &read); err != nil {
		return nil, fmt.Errorf("decode IPPool %s: %w", u.GetName(), err)
	}
	return read.Spec.Allocations, nil
}

// Change maps offsets to new allocations; nil removes the allocation.
type Change map[string]*whereabouts.Allocation

// WritePool applies changes to an IPPool of a resource version, which is empty if the object does not exist. It fails with a conflict if the object has
// another version. It clears managedFields, which would double the size of the object.
func WritePool(ctx context.Context, c client.Client, namespace string, p whereabouts.Pool, version string, changes Change) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	u := newObject(KindPool, namespace, p.Name())
	if version == "" {
		allocations := map[string]any{}
		for offset, a := range changes {
			if a != nil {
				allocations[offset] = members(*a, false)
			}
		}
		u.Object["spec"] = map[string]any{"range": p.Network.String(), "allocations": allocations}
		return c.Create(ctx, u)
	}
	allocations := map[string]any{}
	for offset, a := range changes {
		if allocations[offset] = nil; a != nil {
			allocations[offset] = members(*a, true)
		}
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": version, "managedFields": []any{map[string]any{}}},
		"spec":     map[string]any{"allocations": allocations},
	})
	if err != nil {
		return fmt.Errorf("encode IPPool: %w", err)
	}
	return c.Patch(ctx, u, client.RawPatch(types.MergePatchType, body))
}

// members are the keys of an allocation. With nulls, keys without a value are null, so that a patch removes them.
func members(a whereabouts.Allocation, nulls bool) map[string]any {
	out := map[string]any{"id": a.ContainerID, "podref": a.PodRef}
	for key, value := range map[string]string{"ifname": a.IfName, "podUID": a.PodUID, "node": a.Node, "claim": a.Claim, "claimUID": a.ClaimUID} {
		if value != "" {
			out[key] = value
		} else if nulls {
			out[key] = nil
		}
	}
	return out
}

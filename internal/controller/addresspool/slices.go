package addresspool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/status"
)

// assignSlices assigns slices of ranges to nodes.
func (c *Controller) assignSlices(ctx context.Context, w *observation) error {
	type divided struct {
		whereabouts.Range
		bits int
		by   network
	}
	pools := map[string]divided{}
	var errs []error
	for _, n := range w.networks {
		if !n.Sliced {
			continue
		}
		for _, r := range n.Ranges {
			name, next := n.SlicePool(r), divided{r, n.SliceBits(r), n}
			first, ok := pools[name]
			if ok && (first.Network != r.Network || first.bits != next.bits) {
				c.event(n.object, corev1.EventTypeWarning, "NodeSlicesConflict", "Divide", fmt.Sprintf(
					"the range %s is not divided: NodeSlicePool %s/%s has the slices of %s of %s/%s; set another network_name", r, c.Namespace, name, first.Range, first.by.object.GetNamespace(), first.by.object.GetName()))
				continue
			}
			if !ok {
				pools[name] = next
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		d := pools[name]
		unassigned, err := c.assignPoolSlices(ctx, w, name, d.Range, d.bits, d.by.NetworkName)
		if err != nil {
			errs = append(errs, err)
		}
		if len(unassigned) > 0 {
			c.event(d.by.object, corev1.EventTypeWarning, "NodeSlicesExhausted", "Divide", fmt.Sprintf(
				"the range %s has no slice for %s; extend the range, or set a longer prefix in node_slice_size", d.Range, status.Sentence(unassigned, "")))
		}
	}
	return errors.Join(errs...)
}

// assignPoolSlices writes the NodeSlicePool of a range, and returns the nodes without a slice.
func (c *Controller) assignPoolSlices(ctx context.Context, w *observation, name string, r whereabouts.Range, bits int, networkName string) (unassigned []string, err error) {
	u, err := c.get(ctx, store.KindSlicePool, name)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read NodeSlicePool %s: %w", name, err)
	}
	var spec store.SliceSpec
	var held []whereabouts.Slice
	if exists {
		if spec, held, err = store.ReadSlices(u); err != nil {
			return nil, err
		}
	}
	inUse := map[string]bool{}
	for _, p := range w.pools {
		if p.NetworkName == networkName && p.Network == r.Network && p.Node != "" && len(p.allocations) > 0 {
			inUse[p.Node] = true
		}
	}
	assigned, unassigned := whereabouts.AssignSlices(r, bits, held, slices.Collect(maps.Keys(w.nodes)), func(s whereabouts.Slice) bool { return inUse[s.Node] })
	want := store.SliceSpec{Range: r.Network.String(), SliceSize: "/" + strconv.Itoa(bits)}
	if exists && spec == want && slices.Equal(assigned, held) {
		return unassigned, nil
	}
	return unassigned, c.writeSlices(ctx, u, exists, name, want, assigned)
}

func (c *Controller) writeSlices(ctx context.Context, u *unstructured.Unstructured, exists bool, name string, spec store.SliceSpec, assigned []whereabouts.Slice) error {
	allocations := []any{}
	for _, s := range assigned {
		allocations = append(allocations, map[string]any{"nodeName": s.Node, "sliceRange": s.Range})
	}
	u.Object["spec"] = map[string]any{"range": spec.Range, "sliceSize": spec.SliceSize}
	u.Object["status"] = map[string]any{"allocations": allocations}
	if !exists {
		u.SetNamespace(c.Namespace)
		u.SetName(name)
		if err := c.client.Create(ctx, u); err != nil {
			return fmt.Errorf("create NodeSlicePool %s: %w", name, err)
		}
		return nil
	}
	if err := c.client.Update(ctx, u); err != nil {
		return fmt.Errorf("write NodeSlicePool %s: %w", name, err)
	}
	return nil
}

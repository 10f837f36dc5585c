package store

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// reserve creates the reservation of an address, so that no other pool of the same network name can assign it. ok is false if another owner has it. It
// takes over a reservation of the same owner, for example of an earlier sandbox of the pod.
func (s *Store) reserve(ctx context.Context, networkName string, a netip.Addr, owner whereabouts.Allocation) (ok bool, err error) {
	name := whereabouts.ReservationName(networkName, a)
	for range 3 { // the reservation may be deleted between two requests
		u := newObject(KindReservation, s.namespace, name)
		u.Object["spec"] = reservation(owner, false)
		call, cancel := context.WithTimeout(ctx, requestTimeout)
		err = s.client.Create(call, u)
		cancel()
		if err == nil {
			return true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("reserve %s: %w", a, err)
		}
		existing, err := s.get(ctx, KindReservation, name)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read reservation of %s: %w", a, err)
		}
		held := ReadReservation(existing)
		if !owner.Owns(held) {
			return false, nil
		}
		if held == owner {
			return true, nil
		}
		if err := s.takeOver(ctx, existing, owner); !conflicting(err) && !isNotFound(err) {
			return err == nil, err
		}
	}
	return false, err
}

func (s *Store) takeOver(ctx context.Context, existing *unstructured.Unstructured, owner whereabouts.Allocation) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": existing.GetResourceVersion()}, "spec": reservation(owner, true),
	})
	if err != nil {
		return fmt.Errorf("encode reservation: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.client.Patch(ctx, existing, client.RawPatch(types.MergePatchType, body))
}

// unreserve deletes the reservation of an address if it belongs to a former owner.
func (s *Store) unreserve(ctx context.Context, networkName string, a netip.Addr, former whereabouts.Allocation) error {
	existing, err := s.get(ctx, KindReservation, whereabouts.ReservationName(networkName, a))
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read reservation of %s: %w", a, err)
	}
	if !former.Owns(ReadReservation(existing)) {
		return nil
	}
	return DeleteReservation(ctx, s.client, existing)
}

// DeleteReservation deletes a reservation in the version that was read. A missing reservation is no error; a changed one is a conflict.
func DeleteReservation(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	uid, version := u.GetUID(), u.GetResourceVersion()
	err := c.Delete(ctx, u, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete reservation %s: %w", u.GetName(), err)
	}
	return nil
}

// reservation returns the spec of a reservation. Its keys are those of an allocation, except for the container ID.
func reservation(owner whereabouts.Allocation, nulls bool) map[string]any {
	out := members(owner, nulls)
	out["containerid"] = owner.ContainerID
	delete(out, "id")
	return out
}

// ReadReservation returns the owner of a reservation.
func ReadReservation(u *unstructured.Unstructured) whereabouts.Allocation {
	get := func(key string) string {
		value, _, _ := unstructured.NestedString(u.Object, "spec", key)
		return value
	}
	return whereabouts.Allocation{
		ContainerID: get("containerid"), PodRef: get("podref"), IfName: get("ifname"), PodUID: get("podUID"), Node: get("node"),
		Claim: get("claim"), ClaimUID: get("claimUID"),
	}
}

// reserved returns the names of all reservations.
func (s *Store) reserved(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(GroupVersion.WithKind(KindReservation.Kind + "List"))
	if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	names := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		names[list.Items[i].Name] = true
	}
	return names, nil
}

package ipam

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
)

// KindClaim is the kind of objects that keep addresses for successive pods.
var KindClaim = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1alpha1", Kind: "IPAMClaim"}

// claim is an IPAMClaim. Its methods accept a nil receiver.
type claim struct {
	object *unstructured.Unstructured
	ips    []string
}

// claim reads the IPAMClaim that a configuration names, and sets it in owner; nil if the configuration names none.
func (h *Handler) claim(ctx context.Context, c *whereabouts.Config, call cniserver.Call, owner *whereabouts.Allocation) (*claim, error) {
	if c.Claim == "" {
		return nil, nil
	}
	namespace := call.Pod().Namespace
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(KindClaim)
	err := h.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.Claim}, u)
	if apierrors.IsNotFound(err) || err == nil && u.GetDeletionTimestamp() != nil {
		return nil, &refusal{ReasonClaim, fmt.Sprintf("IPAMClaim %s/%s does not exist or is being deleted; the pod starts when it is created", namespace, c.Claim)}
	}
	if err != nil {
		return nil, store.AsUnavailable(fmt.Errorf("read IPAMClaim %s/%s: %w", namespace, c.Claim, err))
	}
	if network, _, _ := unstructured.NestedString(u.Object, "spec", "network"); network != "" && network != c.Network {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "IPAMClaim %s/%s is for the network %q, and the interface is attached to %q", namespace, c.Claim, network, c.Network)
	}
	owner.Claim, owner.ClaimUID = namespace+"/"+c.Claim, string(u.GetUID())
	ips, _, _ := unstructured.NestedStringSlice(u.Object, "status", "ips")
	return &claim{object: u, ips: ips}, nil
}

// addresses returns the addresses of the claim.
func (k *claim) addresses() []netip.Addr {
	if k == nil {
		return nil
	}
	var out []netip.Addr
	for _, ip := range k.ips {
		if p, err := netip.ParsePrefix(ip); err == nil {
			out = append(out, p.Addr())
		} else if a, err := netip.ParseAddr(ip); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// publish writes the addresses to the status of the claim.
func (h *Handler) publish(ctx context.Context, c *whereabouts.Config, owner whereabouts.Allocation, k *claim, got []assigned) error {
	if k == nil {
		return nil
	}
	var ips []string
	for _, a := range got {
		ips = append(ips, netip.PrefixFrom(a.address, a.Network.Bits()).String())
	}
	if slices.Equal(ips, k.ips) {
		return nil
	}
	if len(k.ips) > 0 {
		h.Log.Warn("an IPAMClaim gets different addresses: its previous ones are outside the ranges of the network", "claim", owner.Claim, "network", c.Network, "had", k.ips, "has", ips)
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"ips": ips}})
	if err != nil {
		return fmt.Errorf("encode status of IPAMClaim: %w", err)
	}
	if err := h.Client.Status().Patch(ctx, k.object, client.RawPatch(types.MergePatchType, body)); err != nil {
		return store.AsUnavailable(fmt.Errorf("write status of IPAMClaim %s: %w", owner.Claim, err))
	}
	return nil
}

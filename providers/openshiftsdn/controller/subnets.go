package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
)

// subnets is the controller that creates the HostSubnet of each node.
type subnets struct {
	*term
	// stale is true if the objects must be read again: at the start, and after a write with an unknown result.
	stale bool
}

func newSubnets(t *term) *subnets { return &subnets{term: t, stale: true} }

// nodeChanged reports whether an update of a Node is relevant.
func nodeChanged(before, now *corev1.Node) bool {
	conditions := func(n *corev1.Node) (out [2]string) {
		for _, c := range n.Status.Conditions {
			switch c.Type {
			case corev1.NodeReady:
				out[0] = string(c.Status)
			case corev1.NodeNetworkUnavailable:
				out[1] = string(c.Status) + c.Reason
			default:
			}
		}
		return out
	}
	return !slices.Equal(before.Status.Addresses, now.Status.Addresses) || conditions(before) != conditions(now)
}

// reconcile compares HostSubnets with Nodes, and writes the differences.
func (s *subnets) reconcile(ctx context.Context) error {
	if s.stale {
		if err := s.subnets.refresh(ctx, s.client, &sdnv1.HostSubnetList{}); err != nil {
			return err
		}
	}
	plan := hostsubnet.New(hostsubnet.Cluster{
		Nodes: s.nodes.list(), HostSubnets: s.subnets.list(), Pools: s.pools(), Services: []netip.Prefix{s.Network.ServiceNetwork},
	})
	var problems []problem
	for _, p := range plan.Problems {
		problems = append(problems, problem(p))
	}
	s.report(subnetLoop, problems)
	s.metrics.waiting.Store(int64(len(plan.Waiting)))
	remove, err := s.confirmed(ctx, plan.Delete)
	if err != nil {
		return err
	}
	operations := changes(s.writer, s.subnets, plan.Create, plan.Update, remove)
	for _, n := range plan.Connected {
		operations = append(operations, func(ctx context.Context) error { return s.connect(ctx, n) })
	}
	err = s.writer.all(ctx, operations)
	s.stale = err != nil
	if len(operations) > 0 {
		s.triggers[subnetLoop].Fire()
	}
	return err
}

// confirmed returns the HostSubnets whose Node does not exist or has another UID according to the API server. A lagging watch must not cost a node its block.
func (s *subnets) confirmed(ctx context.Context, all []*sdnv1.HostSubnet) ([]*sdnv1.HostSubnet, error) {
	var out []*sdnv1.HostSubnet
	for _, o := range all {
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		err := s.client.Get(ctx, client.ObjectKey{Name: o.Name}, node)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read node %s: %w", o.Name, err)
		}
		known := slices.ContainsFunc(s.nodes.list(), func(n *corev1.Node) bool { return n.Name == o.Name && err == nil && n.UID == node.UID })
		if apierrors.IsNotFound(err) || known || string(node.UID) != o.Annotations[sdnv1.AnnotationNodeUID] {
			out = append(out, o)
		}
	}
	return out, nil
}

// connect sets NetworkUnavailable to false on a node that waits for a cloud route.
func (s *subnets) connect(ctx context.Context, n *corev1.Node) error {
	now := metav1.NewTime(s.Now())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID},
		"status": map[string]any{"conditions": []corev1.NodeCondition{{
			Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "OpenShiftSDN needs no routes of the cloud",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}}},
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("encode the condition of node %s: %w", n.Name, err)
	}
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	if err := superseded(s.client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch))); err != nil {
		return fmt.Errorf("set the condition of node %s: %w", n.Name, err)
	}
	return nil
}

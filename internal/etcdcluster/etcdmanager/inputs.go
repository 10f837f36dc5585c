package etcdmanager

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Inputs are the inputs of a reconcile.
type Inputs struct {
	// Settings select the etcd of the network.
	Settings etcdcluster.Settings
	// Prefix is the prefix of the network's keys, without a trailing slash.
	Prefix string
	// Members is the record of the managed etcd.
	Members etcdcluster.Membership
	// Nodes are all nodes, by name.
	Nodes map[string]Node
	// ControlPlane are the nodes that may run a member, the oldest first.
	ControlPlane []etcdcluster.Candidate
	// membersMap is the ConfigMap of Members; it has no resource version if it does not exist.
	membersMap corev1.ConfigMap
}

// Node is a node of the cluster.
type Node struct {
	etcdcluster.Candidate
	Ready bool
}

// Gather reads the record of members and the nodes.
func (e *Manager) Gather(ctx context.Context, settings etcdcluster.Settings, prefix string) (in Inputs, err error) {
	in.Settings, in.Prefix = settings, prefix
	var found bool
	if in.membersMap, found, err = e.configMap(ctx, e.deps.Client, e.cluster.MembersConfigMap()); err != nil {
		return in, err
	}
	if found {
		if in.Members, err = etcdcluster.DecodeMembership(in.membersMap.Data[etcdcluster.MembersKey]); err != nil {
			return in, e.wrap(err)
		}
	} else if settings.Managed != nil {
		if in.Members, err = e.restore(ctx); err != nil {
			return in, err
		}
	}
	in.Nodes, in.ControlPlane, err = e.listNodes(ctx)
	return in, err
}

func (e *Manager) configMap(ctx context.Context, r client.Reader, name string) (cm corev1.ConfigMap, found bool, err error) {
	cm.Namespace, cm.Name = e.cluster.Namespace, name
	err = r.Get(ctx, client.ObjectKeyFromObject(&cm), &cm)
	if apierrors.IsNotFound(err) {
		return cm, false, nil
	}
	if err != nil {
		return cm, false, fmt.Errorf("read ConfigMap %s/%s: %w", e.cluster.Namespace, name, err)
	}
	return cm, true, nil
}

// restore returns the membership from the copies in the members' ConfigMaps, for the case that the ConfigMap MembersConfigMap was deleted. It is empty if
// there are no copies. A copy may be outdated, which is corrected from etcd's member list.
func (e *Manager) restore(ctx context.Context) (etcdcluster.Membership, error) {
	var list corev1.ConfigMapList
	if err := e.deps.Live.List(ctx, &list, client.InNamespace(e.cluster.Namespace), client.HasLabels{etcdcluster.CopyLabel}); err != nil {
		return etcdcluster.Membership{}, fmt.Errorf("list copies of %s: %w", e.cluster.MembersConfigMap(), err)
	}
	var best etcdcluster.Membership
	running := func(m etcdcluster.Membership) (n int) {
		for _, member := range m.Members {
			if member.Runs() {
				n++
			}
		}
		return n
	}
	for _, cm := range list.Items {
		m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
		if err != nil {
			return etcdcluster.Membership{}, fmt.Errorf("restore %s from ConfigMap %s: %w", e.cluster.MembersConfigMap(), cm.Name, err)
		}
		if running(m) > running(best) {
			best = m
		}
	}
	if len(best.Members) > 0 {
		e.deps.Log.Info("restored the members of etcd from their copies", "members", len(best.Members))
	}
	return best, nil
}

// listNodes reads the nodes, of which there may be thousands. It does not copy them, and sorts only those that may run a member.
func (e *Manager) listNodes(ctx context.Context) (map[string]Node, []etcdcluster.Candidate, error) {
	list, err := e.deps.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes := make(map[string]Node, len(list))
	var eligible []*corev1.Node
	for _, n := range list {
		nodes[n.Name] = asNode(n)
		if isControlPlane(n) && nodes[n.Name].Address.IsValid() && n.DeletionTimestamp == nil {
			eligible = append(eligible, n)
		}
	}
	slices.SortFunc(eligible, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var controlPlane []etcdcluster.Candidate
	for _, n := range eligible {
		controlPlane = append(controlPlane, nodes[n.Name].Candidate)
	}
	return nodes, controlPlane, nil
}

func asNode(n *corev1.Node) Node {
	out := Node{Candidate: etcdcluster.Candidate{Name: n.Name, UID: string(n.UID), Address: internalAddress(n)}}
	for _, c := range n.Status.Conditions {
		out.Ready = out.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	return out
}

// internalAddress returns the node's first internal IPv4 address, since agents may only have IPv4, or else its first internal address; the zero address
// if there is none yet.
func internalAddress(n *corev1.Node) netip.Addr {
	var any netip.Addr
	for _, a := range n.Status.Addresses {
		parsed, err := netip.ParseAddr(a.Address)
		if a.Type != corev1.NodeInternalIP || err != nil {
			continue
		}
		if parsed.Is4() {
			return parsed
		}
		if !any.IsValid() {
			any = parsed
		}
	}
	return any
}

func isControlPlane(n *corev1.Node) bool {
	_, plane := n.Labels["node-role.kubernetes.io/control-plane"]
	_, master := n.Labels["node-role.kubernetes.io/master"]
	return plane || master
}

// NodeChanged reports whether an update of a Node affects a Manager. Heartbeats of kubelets do not.
func NodeChanged(e event.UpdateEvent) bool {
	before, beforeOK := e.ObjectOld.(*corev1.Node)
	after, afterOK := e.ObjectNew.(*corev1.Node)
	return !beforeOK || !afterOK || asNode(before) != asNode(after) || isControlPlane(before) != isControlPlane(after) ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}

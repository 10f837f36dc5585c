package controller

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// FoundAnew is the annotation of the ConfigMap flannel-etcd-members with which a person gives the managed etcd up and
// has another one founded. Its value must be "true".
const FoundAnew = "networkoperator.openshift.io/found-again"

// inputs are what a pass uses.
type inputs struct {
	settings record.Settings
	agents   agentconfig.Config
	members  record.Membership
	// membersMap is the ConfigMap that the members were read from; it has no resource version if there is none.
	membersMap corev1.ConfigMap
	nodes      map[string]node
	// controlPlane are the nodes that may run a member, the oldest first.
	controlPlane []record.Candidate
}

// node is one Node.
type node struct {
	record.Candidate
	ready bool
}

// gather reads the inputs. active is false while nothing of flannel is applied.
func (c *Controller) gather(ctx context.Context) (in inputs, active bool, err error) {
	config, found, err := c.configMap(ctx, c.deps.Client, record.ConfigMap)
	if err != nil || !found || config.DeletionTimestamp != nil {
		return in, false, err
	}
	if in.settings, err = record.DecodeSettings(config.Data[record.SettingsKey]); err != nil {
		return in, true, err
	}
	if in.agents, err = agentconfig.Decode([]byte(config.Data[record.AgentKey])); err != nil {
		return in, true, err
	}
	if in.membersMap, found, err = c.configMap(ctx, c.deps.Client, record.MembersConfigMap); err != nil {
		return in, true, err
	}
	if found {
		in.members, err = record.DecodeMembership(in.membersMap.Data[record.MembersKey])
	} else if in.settings.Managed != nil {
		in.members, err = c.restore(ctx)
	}
	if err != nil {
		return in, true, err
	}
	in.nodes, in.controlPlane, err = c.listNodes(ctx)
	return in, true, err
}

func (c *Controller) configMap(ctx context.Context, r client.Reader, name string) (cm corev1.ConfigMap, found bool, err error) {
	cm.Namespace, cm.Name = record.Namespace, name
	err = r.Get(ctx, client.ObjectKeyFromObject(&cm), &cm)
	if apierrors.IsNotFound(err) {
		return cm, false, nil
	}
	if err != nil {
		return cm, false, fmt.Errorf("read ConfigMap %s/%s: %w", record.Namespace, name, err)
	}
	return cm, true, nil
}

// restore returns the membership that the members' own ConfigMaps have copies of, for when someone has deleted the
// record. It is empty if there are none. A copy may be some steps behind, which etcd's own list makes good.
func (c *Controller) restore(ctx context.Context) (record.Membership, error) {
	var list corev1.ConfigMapList
	if err := c.deps.Live.List(ctx, &list, client.InNamespace(record.Namespace), client.HasLabels{record.CopyLabel}); err != nil {
		return record.Membership{}, fmt.Errorf("look for copies of %s: %w", record.MembersConfigMap, err)
	}
	var best record.Membership
	running := func(m record.Membership) (n int) {
		for _, member := range m.Members {
			if member.Runs() {
				n++
			}
		}
		return n
	}
	for _, cm := range list.Items {
		m, err := record.DecodeMembership(cm.Data[record.MembersKey])
		if err != nil {
			return record.Membership{}, fmt.Errorf("restore %s from ConfigMap %s: %w", record.MembersConfigMap, cm.Name, err)
		}
		if running(m) > running(best) {
			best = m
		}
	}
	if len(best.Members) > 0 {
		c.deps.Log.Info("restored the members of etcd from their copies", "members", len(best.Members))
	}
	return best, nil
}

// listNodes reads the nodes, of which there may be thousands: they are only looked at, and just the few that may run
// a member are sorted.
func (c *Controller) listNodes(ctx context.Context) (map[string]node, []record.Candidate, error) {
	list, err := c.deps.Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes := make(map[string]node, len(list))
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
	var controlPlane []record.Candidate
	for _, n := range eligible {
		controlPlane = append(controlPlane, nodes[n.Name].Candidate)
	}
	return nodes, controlPlane, nil
}

func asNode(n *corev1.Node) node {
	out := node{Candidate: record.Candidate{Name: n.Name, UID: string(n.UID), Address: internalAddress(n)}}
	for _, c := range n.Status.Conditions {
		out.ready = out.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	return out
}

// internalAddress returns the node's first internal IPv4 address, since flannel's agents need IPv4, or else its first
// internal address. It is the zero value if there is none yet.
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

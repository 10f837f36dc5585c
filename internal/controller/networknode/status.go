package networknode

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/nodestate"
)

// node is what is known of a node of a cluster with a network.
type node struct {
	name string
	kind operatorv1.NetworkType
	nodestate.Node
}

// desired returns what is known of each node; nothing without Network/cluster.
func (c *Controller) desired(ctx context.Context) ([]node, error) {
	spec, err := c.spec(ctx)
	if err != nil || spec == nil {
		return nil, err
	}
	cluster, err := c.cluster(ctx, spec)
	if err != nil {
		return nil, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	pods := make(map[string]*nodestate.Pods, len(nodes))
	for _, namespace := range c.Namespaces {
		if err := c.Pods(ctx, namespace, labels.Everything(), func(p *corev1.Pod) {
			if pods[p.Spec.NodeName] == nil {
				pods[p.Spec.NodeName] = &nodestate.Pods{}
			}
			cluster.Add(pods[p.Spec.NodeName], p)
		}); err != nil {
			return nil, fmt.Errorf("read pods of the network: %w", err)
		}
	}
	all := make([]node, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, node{n.Name, spec.DefaultNetwork.Type, cluster.Of(n, pods[n.Name])})
	}
	return all, nil
}

// spec returns the applied specification, or that of Network/cluster while there is none; nil without Network/cluster.
func (c *Controller) spec(ctx context.Context) (*operatorv1.NetworkSpec, error) {
	var network operatorv1.Network
	if err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("read network: %w", err)
	}
	data, err := c.record(ctx, applied.ConfigMapName)
	if err != nil {
		return nil, err
	}
	if spec := applied.SpecOf(data.Data); spec != nil {
		return spec, nil
	}
	return &network.Spec, nil
}

// record returns a ConfigMap of the operator's namespace; an empty one if it does not exist.
func (c *Controller) record(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &cm); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	return &cm, nil
}

// cluster returns what is known of the cluster except its nodes and pods.
func (c *Controller) cluster(ctx context.Context, spec *operatorv1.NetworkSpec) (*nodestate.Cluster, error) {
	cluster := c.Cluster
	cluster.Pools = nodestate.Pools(spec.ClusterNetwork)
	mtu, err := c.record(ctx, hostmtu.ConfigMap)
	if err != nil {
		return nil, err
	}
	if record, err := hostmtu.Decode(mtu.Data, mtu.CreationTimestamp.Time); err == nil { // otherwise it is being determined again
		cluster.MTU = record.Nodes
	}
	var hosts networkv1.HostNetworkConfigList
	if err := c.Client.List(ctx, &hosts, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list HostNetworkConfigs: %w", err)
	}
	cluster.Hosts = nodestate.HostFailures(hosts.Items)
	c.reported.mu.Lock()
	defer c.reported.mu.Unlock()
	cluster.Fights, cluster.Unreachable = c.reported.fights, c.reported.unreachable
	return &cluster, nil
}

// change is one write: a create (live is nil), an update, or a delete (desired is nil).
type change struct {
	name    string
	live    *networkoperatorv1.NetworkNode
	desired *networkoperatorv1.NetworkNodeStatus
}

// changes returns the writes after which there is an object for each node, and no other.
func changes(desired []node, live []networkoperatorv1.NetworkNode, now time.Time) []change {
	former := make(map[string]*networkoperatorv1.NetworkNode, len(live))
	for i := range live {
		former[live[i].Name] = &live[i]
	}
	var all []change
	for _, n := range desired {
		existing := former[n.name]
		delete(former, n.name)
		if status := statusOf(n, existing, now); existing == nil || !equality.Semantic.DeepEqual(existing.Status, status) {
			all = append(all, change{n.name, existing, &status})
		}
	}
	for name, existing := range former {
		all = append(all, change{name: name, live: existing})
	}
	return all
}

// statusOf returns the status for a node. existing is the object of the node, whose transition time is kept as long as the status of the condition; nil if there is
// none.
func statusOf(n node, existing *networkoperatorv1.NetworkNode, now time.Time) networkoperatorv1.NetworkNodeStatus {
	s := networkoperatorv1.NetworkNodeStatus{Type: string(n.kind), Blocks: n.Blocks, MTU: int32(n.MTU)}
	for _, a := range n.Agents {
		s.Agents = append(s.Agents, networkoperatorv1.NetworkNodeAgent{Namespace: a.Namespace, Name: a.Name, Image: a.Image, Ready: a.Ready})
	}
	ready := metav1.Condition{Type: networkoperatorv1.NodeReady, Status: metav1.ConditionFalse, Reason: n.State.Reason(), Message: n.Why, LastTransitionTime: metav1.NewTime(now)}
	if n.State.Works() {
		ready.Status = metav1.ConditionTrue
	}
	if n.State == nodestate.Ready {
		ready.Message = "The network works on the node"
	}
	if existing != nil {
		if before := meta.FindStatusCondition(existing.Status.Conditions, ready.Type); before != nil && before.Status == ready.Status {
			ready.LastTransitionTime = before.LastTransitionTime
		}
	}
	s.Conditions = []metav1.Condition{ready}
	return s
}

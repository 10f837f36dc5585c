package nodemtu

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// observe reads the input of step, and the resource version of the ConfigMap.
func (c *Controller) observe(ctx context.Context) (input, string, error) {
	v := input{now: c.Now(), failures: c.failures}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return v, "", err
	}
	v.nodes = make([]node, 0, len(nodes))
	for _, n := range nodes {
		v.nodes = append(v.nodes, node{name: n.Name, uid: string(n.UID), unreachable: unreachable(n)})
	}
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, client.UnsafeDisableDeepCopy, client.InNamespace(c.Namespace), client.MatchingLabels{manifest.LabelComponent: component}); err != nil {
		return v, "", fmt.Errorf("list probes: %w", err)
	}
	for i := range pods.Items {
		v.probes = append(v.probes, readProbe(&pods.Items[i]))
	}
	record, version, err := c.load(ctx)
	v.record = record
	return v, version, err
}

// load reads the record and the resource version of its ConfigMap.
func (c *Controller) load(ctx context.Context) (hostmtu.Record, string, error) {
	var cm corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: hostmtu.ConfigMap}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return hostmtu.Record{}, "", fmt.Errorf("read MTU of nodes: %w", err)
	}
	if c.pending && cm.ResourceVersion == c.replacedVersion {
		return c.lastWritten, c.replacedVersion, nil
	}
	c.pending = false
	if err != nil {
		return hostmtu.Record{}, "", nil
	}
	record, err := hostmtu.Decode(cm.Data, cm.CreationTimestamp.Time)
	if err != nil {
		c.Log.Warn("the record of the nodes' MTU is unreadable; probing the nodes again", "error", err)
		return hostmtu.Record{First: cm.CreationTimestamp.Time, Settled: hostmtu.Settled(cm.Data)}, cm.ResourceVersion, nil
	}
	return record, cm.ResourceVersion, nil
}

// execute writes the record, then deletes and creates probes, so that a result is stored before its pod is deleted.
func (c *Controller) execute(ctx context.Context, a actions, version string) error {
	if a.write {
		if err := c.write(ctx, a.record, version); err != nil {
			return err
		}
	}
	for _, p := range a.remove {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = c.Namespace, p.name
		if err := c.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete probe of node %s: %w", p.node, err)
		}
	}
	pullSecret := ""
	if len(a.start) > 0 && c.PullSecret != nil {
		var err error
		if pullSecret, err = c.PullSecret(ctx); err != nil {
			return err
		}
	}
	for _, n := range a.start {
		err := c.Client.Create(ctx, probePod(n, c.Namespace, c.Image, pullSecret), fieldManager)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("start probe on node %s: %w", n.name, err)
		}
		c.Log.Debug("started a probe", "node", n.name)
	}
	return nil
}

func (c *Controller) write(ctx context.Context, record hostmtu.Record, version string) error {
	data, err := record.Encode()
	if err != nil {
		return err
	}
	cm := corev1ac.ConfigMap(hostmtu.ConfigMap, c.Namespace).
		WithLabels(map[string]string{manifest.LabelComponent: component}).WithData(data)
	if err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("write MTU of nodes: %w", err)
	}
	c.lastWritten, c.replacedVersion, c.pending = record, version, true
	c.Log.Info("recorded the MTU of nodes", "nodes", len(record.Nodes), "least", record.Least(), "settled", record.Settled)
	return nil
}

// unreachable reports whether the kubelet of a node does not respond.
func unreachable(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	if !ok {
		return false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

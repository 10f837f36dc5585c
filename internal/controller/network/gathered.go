package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// gathered is everything that a reconcile reads before it decides anything.
type gathered struct {
	network *operatorv1.Network
	// managed is false if nothing may be changed.
	managed bool
	memory  memory
	// corrupt is why the record cannot be read. What is known to be applied is repaired nevertheless.
	corrupt error
	cluster facts.Cluster
}

// lost reports that the record cannot be read, and that nothing is known to be applied. Only a change of the record helps, which is an
// event.
func (g *gathered) lost() bool { return g.corrupt != nil && g.memory.record.Baseline() == nil }

// gather reads the records and the facts, and publishes the facts.
func (c *Controller) gather(ctx context.Context, network *operatorv1.Network) (gathered, error) {
	g := gathered{network: network, managed: pipeline.Managed(network)}
	var err error
	if g.memory, err = c.records.load(ctx); err != nil {
		if !isCorrupt(err) {
			return g, err
		}
		g.corrupt = err
	}
	if g.lost() {
		return g, nil
	}
	if g.cluster, err = c.cluster(ctx, without(&network.Spec)); err != nil {
		return g, err
	}
	return g, c.records.publish(ctx, g.cluster)
}

func isCorrupt(err error) bool {
	_, is := errors.AsType[*applied.CorruptError](err)
	return is || errors.Is(err, plan.ErrInventory)
}

// Cluster gathers the facts as they are now, but for those of Services, which are at most a minute old.
func (c *Controller) Cluster(ctx context.Context) (facts.Cluster, error) {
	return c.cluster(ctx, false)
}

// cluster is Cluster. A specification without kube-proxy is compared with what serves Services now.
func (c *Controller) cluster(ctx context.Context, without bool) (facts.Cluster, error) {
	known := c.Facts
	var err error
	if known.Platform, err = c.platform(ctx); err != nil {
		return facts.Cluster{}, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return facts.Cluster{}, err
	}
	var cm corev1.ConfigMap
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: hostmtu.ConfigMap}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return facts.Cluster{}, fmt.Errorf("read MTU of nodes: %w", err)
	}
	known.Interfaces = hostmtu.Interfaces(cm.Data)
	if known.MTUMigration, err = c.mtuMigration(ctx); err != nil {
		return facts.Cluster{}, err
	}
	if known.Services, err = c.services(ctx, without); err != nil {
		return facts.Cluster{}, err
	}
	if c.PullSecret != nil {
		if known.PullSecret, err = c.PullSecret(ctx); err != nil {
			return facts.Cluster{}, err
		}
	}
	return Facts(known, nodes, hostmtu.Settled(cm.Data)), nil
}

// mtuMigration reads how far the nodes have come with a change of the MTU.
func (c *Controller) mtuMigration(ctx context.Context) (facts.MTUMigration, error) {
	var cm corev1.ConfigMap
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: facts.MTUMigrationConfigMap}, &cm); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return facts.MTUMigration{}, fmt.Errorf("read progress of the MTU migration: %w", err)
		}
		return facts.MTUMigration{}, nil
	}
	return facts.DecodeMTUMigration(cm.Data), nil
}

// platform returns the platform of the cluster: that of the Infrastructure where there is one, and else what is known
// since the start.
func (c *Controller) platform(ctx context.Context) (string, error) {
	if !c.Operands.Serves(kindInfrastructure()) {
		return c.Facts.Platform, nil
	}
	var infra configv1.Infrastructure
	if err := c.Client.Get(ctx, client.ObjectKey{Name: infrastructureName}, &infra); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read infrastructure: %w", err)
	}
	return cmp.Or(facts.Platform(&infra), c.Facts.Platform), nil
}

// services returns what the cluster has for Services, as it was at most servicesKept ago, or now. What was read last is good
// enough while it cannot be read, unless it has to be that of now.
func (c *Controller) services(ctx context.Context, fresh bool) (facts.Services, error) {
	c.served.Lock()
	defer c.served.Unlock()
	now := c.Now()
	if !fresh && !c.served.at.IsZero() && now.Sub(c.served.at) < servicesKept {
		return c.served.services, nil
	}
	s, err := ReadServices(ctx, c.Live)
	switch {
	case err != nil && fresh:
		return facts.Services{}, err
	case err != nil:
		c.Log.Warn("what the cluster has for Services cannot be read", "error", err)
		return c.served.services, nil
	}
	c.served.services, c.served.at = s, now
	return s, nil
}

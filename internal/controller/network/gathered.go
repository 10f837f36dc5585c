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

// gathered is the input of a reconcile.
type gathered struct {
	network *operatorv1.Network
	// managed is false if nothing may be changed.
	managed bool
	memory  memory
	// corrupt is the error of an unreadable record. A known applied configuration is repaired nevertheless.
	corrupt error
	cluster facts.Cluster
}

// lost reports that the record is unreadable and no applied configuration is known. Only a change of the record resolves that.
func (g *gathered) lost() bool { return g.corrupt != nil && g.memory.record.Baseline() == nil }

// detects reports whether the specification omits fields whose values no record has.
func (g *gathered) detects() bool {
	return pipeline.Omits(&g.network.Spec) && Recorded(g.memory.record, g.memory.history) == nil
}

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
	detects := g.detects()
	if g.cluster, err = c.cluster(ctx, withoutKubeProxy(&network.Spec) || detects); err != nil {
		return g, err
	}
	if detects {
		if g.cluster.Declared, err = ReadDeclared(ctx, c.Live, g.memory.decision, g.cluster.Services); err != nil {
			return g, err
		}
	}
	return g, c.records.publish(ctx, g.cluster)
}

func isCorrupt(err error) bool {
	_, ok := errors.AsType[*applied.CorruptError](err)
	return ok || errors.Is(err, plan.ErrInventory)
}

// Cluster returns the current facts. Those about Services are at most one minute old.
func (c *Controller) Cluster(ctx context.Context) (facts.Cluster, error) {
	return c.cluster(ctx, false)
}

// cluster is Cluster, except that current requires current facts about Services.
func (c *Controller) cluster(ctx context.Context, current bool) (facts.Cluster, error) {
	f := c.Facts
	var err error
	if f.Platform, err = c.platform(ctx); err != nil {
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
	f.Interfaces = hostmtu.Interfaces(cm.Data)
	if f.MTUMigration, err = c.mtuMigration(ctx); err != nil {
		return facts.Cluster{}, err
	}
	if f.Services, err = c.services(ctx, current); err != nil {
		return facts.Cluster{}, err
	}
	if c.PullSecret != nil {
		if f.PullSecret, err = c.PullSecret(ctx); err != nil {
			return facts.Cluster{}, err
		}
	}
	return Facts(f, nodes, hostmtu.Settled(cm.Data)), nil
}

// mtuMigration reads the nodes' progress of an MTU migration.
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

// platform returns the platform of the Infrastructure if it exists; otherwise that from the start of the operator.
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

// services returns the facts about Services, which are at most servicesCacheTime old, or current. After a read error the cached facts are
// returned, unless current ones are required.
func (c *Controller) services(ctx context.Context, current bool) (facts.Services, error) {
	c.servicesCache.Lock()
	defer c.servicesCache.Unlock()
	now := c.Now()
	if !current && !c.servicesCache.at.IsZero() && now.Sub(c.servicesCache.at) < servicesCacheTime {
		return c.servicesCache.services, nil
	}
	s, err := ReadServices(ctx, c.Live)
	switch {
	case err != nil && current:
		return facts.Services{}, err
	case err != nil:
		c.Log.Warn("cannot read the facts about Services", "error", err)
		return c.servicesCache.services, nil
	}
	c.servicesCache.services, c.servicesCache.at = s, now
	return s, nil
}

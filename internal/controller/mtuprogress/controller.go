// Package mtuprogress observes the nodes' progress of an MTU migration, for networks whose agents report in their pods.
//
// Input: spec.migration of Network.operator, the migration in the network's ConfigMap, nodes, and the agents' pods. Output: the ConfigMap
// mtu-migration, which the pipeline reads, and findings for the phase. Pods are only read during a migration.
//
// The controller does not decide the next step; rendering does, from the published progress.
package mtuprogress

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/report"
)

// Name is the name of the controller, on the board and in logs.
const Name = "mtuprogress"

// fieldManager owns the ConfigMap.
const fieldManager = client.FieldOwner("cluster-network-operator/mtuprogress")

const (
	// pollInterval is the interval at which agents are read during the migration, and idleInterval that after all have finished.
	pollInterval = 3 * time.Second
	idleInterval = time.Minute
)

// Controller publishes the progress. All exported fields must be set.
type Controller struct {
	// Client reads Network.operator and the ConfigMaps of the operator's namespace from a cache, and writes the latter. Live reads from the
	// API server.
	Client client.Client
	Live   client.Reader
	// Nodes returns all nodes. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Networks are the networks whose agents report in their pods.
	Networks []provider.MTUReporter
	// Namespace is the operator's namespace.
	Namespace string
	Board     *report.Board

	// active is true during a migration, even if another client deletes the published progress.
	active bool
}

// Reporters returns the networks whose agents report in their pods.
func Reporters(providers []provider.Provider) []provider.MTUReporter {
	var out []provider.MTUReporter
	for _, p := range providers {
		if r, ok := p.(provider.MTUReporter); ok {
			out = append(out, r)
		}
	}
	return out
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Board.Await(Name)
	progress := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == c.Namespace && o.GetName() == facts.MTUMigrationConfigMap
	})
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, &operatorv1.Network{}, loop.Once(), predicate.GenerationChangedPredicate{}),
		loop.On(mgr, &corev1.ConfigMap{}, loop.Once(), progress),
	)
}

// Reconcile publishes and reports the progress. Without a migration it only reads from caches.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	announced, err := c.announced(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	published := &corev1.ConfigMap{}
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: facts.MTUMigrationConfigMap}, published)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read ConfigMap %s/%s: %w", c.Namespace, facts.MTUMigrationConfigMap, err)
	}
	if !announced && err != nil && !c.active {
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	for _, network := range c.Networks {
		agents := network.MTUAgents()
		var config corev1.ConfigMap
		err := c.Live.Get(ctx, client.ObjectKey{Namespace: agents.Namespace, Name: agents.ConfigMap}, &config)
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read ConfigMap %s/%s: %w", agents.Namespace, agents.ConfigMap, err)
		}
		if err != nil || config.DeletionTimestamp != nil {
			continue // the network is not installed
		}
		record, err := mtumigration.DecodeRecord(config.Data)
		switch {
		case err != nil:
			return reconcile.Result{}, err // a damaged record is rewritten by rendering
		case record != nil:
			c.active = true
			return c.watch(ctx, network, *record)
		}
		// Other networks withdraw their own progress.
		if err := mtumigration.Withdraw(ctx, c.Client, c.Namespace); err != nil {
			return reconcile.Result{}, err
		}
	}
	c.active = false
	c.Board.Report(Name)
	if !announced {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: pollInterval}, nil // rendering will start the migration
}

// announced reports whether the specification requests an MTU migration of one of these networks.
func (c *Controller) announced(ctx context.Context) (bool, error) {
	var network operatorv1.Network
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read network: %w", err)
	}
	if err != nil || mtumigration.Announced(&network.Spec) == nil {
		return false, nil
	}
	wanted := network.Spec.DefaultNetwork.Type // empty for that of the network in use
	return slices.ContainsFunc(c.Networks, func(n provider.MTUReporter) bool { return wanted == "" || n.Traits().Type == wanted }), nil
}

// watch compares the reports of agents with a record.
func (c *Controller) watch(ctx context.Context, network provider.MTUReporter, record mtumigration.Record) (reconcile.Result, error) {
	agents := network.MTUAgents()
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var pods corev1.PodList
	if err := c.Live.List(ctx, &pods, client.InNamespace(agents.Namespace), client.MatchingLabels{"app": agents.App}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list pods of %s: %w", agents.App, err)
	}
	progress, waiting := mtumigration.Progress(record.State, mtumigration.Reports(nodes, pods.Items))
	c.Board.Report(Name, mtumigration.Findings(agents.Component, network.MTUPath().String(), record.Change, progress, len(nodes), waiting)...)
	if _, err := mtumigration.Publish(ctx, c.Client, fieldManager, c.Namespace, progress); err != nil {
		return reconcile.Result{}, err
	}
	if record.Change.Announced && progress.Reached(record.Change.To) {
		return reconcile.Result{RequeueAfter: idleInterval}, nil
	}
	return reconcile.Result{RequeueAfter: pollInterval}, nil
}

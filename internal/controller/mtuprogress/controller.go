// Package mtuprogress watches how far the nodes have come with a change of the MTU of pods, for networks whose agents report by their pods.
//
// Input: spec.migration of Network.operator, the change in the ConfigMap of the network, nodes, and the agents' pods. Output: the ConfigMap
// mtu-migration, which the pipeline reads, and findings for the phase. The pods are only read while there is a change.
//
// It must never decide which step is next: rendering does, with what is reported here.
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
	// soon is after how long agents are asked again while they have something to do, later once all have done everything.
	soon  = 3 * time.Second
	later = time.Minute
)

// Controller is the controller. All exported fields must be set.
type Controller struct {
	// Client reads Network.operator and the ConfigMaps of the operator's namespace from a cache, and writes those. Live reads past any cache.
	Client client.Client
	Live   client.Reader
	// Nodes returns all nodes, for looking at only.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Networks are those whose agents report by their pods.
	Networks []provider.MTUReporter
	// Namespace is the operator's.
	Namespace string
	Board     *report.Board

	// active is true while a network has a change, also when what was published is deleted by a third party.
	active bool
}

// Reporters returns the networks whose agents report by their pods.
func Reporters(providers []provider.Provider) []provider.MTUReporter {
	var out []provider.MTUReporter
	for _, p := range providers {
		if r, is := p.(provider.MTUReporter); is {
			out = append(out, r)
		}
	}
	return out
}

// Specs returns the controller as data.
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

// Reconcile publishes and reports how far the nodes have come. Without a change it reads from caches alone.
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
			return reconcile.Result{}, err // what a third party has damaged is about to be written again
		case record != nil:
			c.active = true
			return c.watch(ctx, network, *record)
		}
		// Another network withdraws what it has published itself.
		if err := mtumigration.Withdraw(ctx, c.Client, c.Namespace); err != nil {
			return reconcile.Result{}, err
		}
	}
	c.active = false
	c.Board.Report(Name)
	if !announced {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: soon}, nil // the network is about to be rendered with it
}

// announced reports whether the specification asks for a change of the MTU by one of these networks.
func (c *Controller) announced(ctx context.Context) (bool, error) {
	var network operatorv1.Network
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read network: %w", err)
	}
	if err != nil || mtumigration.Announced(&network.Spec) == nil {
		return false, nil
	}
	return slices.ContainsFunc(c.Networks, func(n provider.MTUReporter) bool { return n.Traits().Type == network.Spec.DefaultNetwork.Type }), nil
}

// watch compares what agents report with a record.
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
		return reconcile.Result{RequeueAfter: later}, nil
	}
	return reconcile.Result{RequeueAfter: soon}, nil
}

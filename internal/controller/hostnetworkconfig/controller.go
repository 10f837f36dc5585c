// Package hostnetworkconfig brings the documents of HostNetworkConfigs to hosts, and says what became of them.
//
// Input: all HostNetworkConfigs, the nodes, the BareMetalHosts if their kind is served, and what couriers on the nodes
// report. Output: where MachineConfigs are served, one a role with documents, and one with the program that applies them, if that is
// requested; elsewhere ConfigMaps, from which a courier on each node brings
// the files; for hosts that are booted from an image, a Secret each, and its name in the BareMetalHost; couriers that
// report; and the status of each HostNetworkConfig.
//
// It must never take a document away because of a mistake: while a HostNetworkConfig is invalid, what was made of it before stays.
// It never applies anything on a node, but asks nodes to, where a rollout is live. Nodes are restarted only for what its author has asked for.
package hostnetworkconfig

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the loop in logs.
	Name = "hostnetworkconfig"
	// fieldManager owns the fields of what the loop makes.
	fieldManager = client.FieldOwner("cluster-network-operator/hostnetworkconfig")
	// lookAgain is how often objects are looked at that are not watched, because only some clusters serve them.
	lookAgain = 5 * time.Minute
	// lookSoon is the same while a BareMetalHost, or the last word of a courier, is awaited.
	lookSoon = 15 * time.Second
)

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads HostNetworkConfigs, nodes and reports from the manager's cache, and writes.
	Client client.Client
	// Live reads what is not cached.
	Live client.Reader
	// Serves reports whether the API server serves a kind. Not knowing is an error.
	Serves func(schema.GroupKind) (bool, error)
	// Image is that of couriers. Without one there are none, and what would need them is said in the status.
	Image string
	// Units are those of the program host-network, for MachineConfigs.
	Units fs.FS
	// PullSecret returns the name of the Secret with which couriers pull their images, empty for none; nil is none.
	PullSecret func(context.Context) (string, error)
	// APIServer is how couriers reach it without the cluster's network. Empty is by the service.
	APIServer facts.HostPort
	// Version is that of the operator.
	Version string
	// Wake starts a reconcile from elsewhere.
	Wake trigger.Trigger
	Now  func() time.Time
	Log  *slog.Logger

	// made remembers what was applied, so that it is not sent again.
	made map[objectKey]applied
	// renders remembers documents of specifications that have not changed.
	renders map[string]remembered
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{networkv1.GroupVersion.WithKind("HostNetworkConfig").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := c.Wake.Handler()
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == nodereport.Namespace })
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		c.Wake.Source(),
		loop.On(mgr, &networkv1.HostNetworkConfig{}, once),
		loop.On(mgr, &corev1.Node{}, once, predicate.Or(predicate.LabelChangedPredicate{}, readinessChanged())),
		loop.On(mgr, &corev1.ConfigMap{}, once, ours),
	)
}

// readinessChanged passes updates of nodes that have become ready or not ready.
func readinessChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, both := e.ObjectNew.(*corev1.Node)
		return ok && both && ready(before) != ready(after)
	}}
}

// Reconcile makes everything of all HostNetworkConfigs.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	world, err := c.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := c.decide(world)
	failed, err := c.apply(ctx, world, decision)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.publish(ctx, world, decision); err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case failed || decision.Waiting:
		return reconcile.Result{RequeueAfter: lookSoon}, nil
	case len(world.Configs) == 0:
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: lookAgain}, nil
}

// Package hostnetworkconfig installs the documents of HostNetworkConfigs on hosts, and reports their state.
//
// Input: all HostNetworkConfigs, the nodes, the BareMetalHosts if their kind is available, and the reports of sync agents on nodes. Output:
// where MachineConfigs are available, one per role with documents, and on request one with the program that applies them; elsewhere
// ConfigMaps, from which a sync agent on each node copies the files; for hosts that boot from an image, a Secret each, and its name in the
// BareMetalHost; sync agents that report; and the status of each HostNetworkConfig.
//
// An error never removes a document: while a HostNetworkConfig is invalid, its previous objects stay. The controller applies nothing on
// nodes; it sends requests to them in a live rollout. Nodes are restarted only on request of the author.
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
	// Name is the name of the controller in logs.
	Name = "hostnetworkconfig"
	// fieldManager owns the fields that the controller writes.
	fieldManager = client.FieldOwner("cluster-network-operator/hostnetworkconfig")
	// resyncInterval is the interval at which objects are read that are not watched, because only some clusters have their kinds.
	resyncInterval = 5 * time.Minute
	// retryInterval is the same while a BareMetalHost or the last report of a sync agent is awaited.
	retryInterval = 15 * time.Second
)

// Controller reconciles HostNetworkConfigs. All fields up to Log must be set.
type Controller struct {
	// Client reads HostNetworkConfigs, nodes and reports from the manager's cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Serves reports whether the API server serves a kind. It returns an error if that is unknown.
	Serves func(schema.GroupKind) (bool, error)
	// Image is the image of sync agents. If it is empty, there are no sync agents, and the status reports that.
	Image string
	// Units are the systemd units of host-network, for MachineConfigs.
	Units fs.FS
	// PullSecret returns the name of the sync agents' image pull secret, empty for none; nil means none.
	PullSecret func(context.Context) (string, error)
	// APIServer is the address of the API server for sync agents, which do not use the cluster network. Empty means the Service.
	APIServer facts.HostPort
	// Version is the version of the operator.
	Version string
	// Wake starts a reconcile.
	Wake trigger.Trigger
	Now  func() time.Time
	Log  *slog.Logger

	// lastApplied are the last applies, to avoid repeated ones.
	lastApplied map[objectKey]applied
	// renderCache caches the documents of specifications by UID.
	renderCache map[string]cachedRender
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{networkv1.GroupVersion.WithKind("HostNetworkConfig").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := c.Wake.Handler()
	ownedLabels := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == nodereport.Namespace })
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		c.Wake.Source(),
		loop.On(mgr, &networkv1.HostNetworkConfig{}, once),
		loop.On(mgr, &corev1.Node{}, once, predicate.Or(predicate.LabelChangedPredicate{}, readinessChanged())),
		loop.On(mgr, &corev1.ConfigMap{}, once, ownedLabels),
	)
}

// readinessChanged passes updates of nodes that have become ready or not ready.
func readinessChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return ok && okAfter && ready(before) != ready(after)
	}}
}

// Reconcile applies all HostNetworkConfigs and updates their status.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	input, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := c.decide(input)
	failed, err := c.apply(ctx, input, decision)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.publish(ctx, input, decision); err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case failed || decision.Waiting:
		return reconcile.Result{RequeueAfter: retryInterval}, nil
	case len(input.Configs) == 0:
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: resyncInterval}, nil
}

// Package networkfeatures publishes which kinds of NetworkPolicy rules the network enforces, for the form in OpenShift's console.
//
// Input: the type of the applied network, in the NetworkGuard. Output: the ConfigMap openshift-network-features in
// openshift-config-managed, which is restored after modifications.
//
// There is no ConfigMap for networks that the operator does not install. If the namespace does not exist, nothing is done.
package networkfeatures

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "networkfeatures"
	// Namespace is the namespace that the console reads.
	Namespace = "openshift-config-managed"
	// ConfigMapName is the name of the ConfigMap that the console reads.
	ConfigMapName = "openshift-network-features"
	// keyEgress and keyExceptions are the keys that the console reads; their values are "true" or "false".
	keyEgress     = "policy_egress"
	keyExceptions = "policy_peer_ipblock_exceptions"
	// component is the component of the ConfigMap and of findings.
	component = "NetworkFeatures"
	// fieldManager owns the fields of the ConfigMap.
	fieldManager = client.FieldOwner("cluster-network-operator/networkfeatures")
	// retryInterval is the interval at which the controller checks whether the namespace exists.
	retryInterval = 5 * time.Minute
)

// cacheOptions returns the kinds that the controller reads from its own cache: its ConfigMap.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
		Namespaces: map[string]cache.Config{Namespace: {LabelSelector: labels.SelectorFromSet(ownedLabels())}},
	}}
}

// ownedLabels are the labels of the controller's ConfigMap.
func ownedLabels() map[string]string {
	return map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component}
}

// Controller publishes the features. All fields except Client must be set; setup sets that.
type Controller struct {
	// Client reads from the controller's cache, and writes.
	Client client.Client
	// Policies returns the NetworkPolicy rules that a type of network enforces, and whether the operator installs it.
	Policies func(operatorv1.NetworkType) (support provider.PolicySupport, installed bool)
	Board    *report.Board
	Log      *slog.Logger
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{loop.OpenShift()}, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	var wake trigger.Trigger
	wake.Fire()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		wake.Source(),
		loop.On(mgr, &corev1.ConfigMap{}, wake.Handler()),
		loop.On(mgr, &networkoperatorv1.NetworkGuard{}, wake.Handler()),
	)
}

// Reconcile writes or deletes the ConfigMap. Without a NetworkGuard no network is applied, and nothing changes.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var applied networkoperatorv1.NetworkGuard
	if err := c.Client.Get(ctx, client.ObjectKey{Name: networkoperatorv1.NetworkGuardName}, &applied); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read NetworkGuard: %w", err)
		}
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	var live corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: ConfigMapName}, &live)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read ConfigMap: %w", err)
	}
	support, installed := c.Policies(admission.TypeOf(&applied))
	if !installed {
		if err == nil {
			if err := c.Client.Delete(ctx, &live); client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, c.failed(fmt.Errorf("delete ConfigMap: %w", err))
			}
			c.Log.Info("deleted the network features, because a third party installs the network")
		}
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	desired := map[string]string{keyEgress: strconv.FormatBool(support.Egress), keyExceptions: strconv.FormatBool(support.IPBlockExceptions)}
	if err != nil || !manifest.HasAll(live.Data, desired) || !manifest.HasAll(live.Labels, ownedLabels()) {
		err := c.Client.Apply(ctx, corev1ac.ConfigMap(ConfigMapName, Namespace).WithLabels(ownedLabels()).WithData(desired), fieldManager, client.ForceOwnership)
		if apierrors.IsNotFound(err) { // the namespace
			c.Board.Report(Name)
			return reconcile.Result{RequeueAfter: retryInterval}, nil
		}
		if err != nil {
			return reconcile.Result{}, c.failed(fmt.Errorf("apply ConfigMap: %w", err))
		}
		c.Log.Info("wrote the network features", "features", desired)
	}
	c.Board.Report(Name)
	return reconcile.Result{}, nil
}

// failed reports an error and returns it. The network works without the ConfigMap, so it only affects the component's own condition.
func (c *Controller) failed(err error) error {
	c.Board.Report(Name, status.Finding{
		Component: component, Effect: status.Degraded, Reason: "NetworkFeaturesError", Aside: true,
		Message: "The console does not know which NetworkPolicies the network enforces: " + err.Error(),
	})
	return err
}

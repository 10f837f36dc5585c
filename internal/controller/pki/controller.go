// Package pki creates the CA and the certificate of each OperatorPKI, and rotates them.
//
// Input: the OperatorPKIs of all namespaces, and their Secrets and ConfigMaps. Output, in the namespace of each and owned by it: the Secret
// <name>-ca with the signing CA, the ConfigMap <name>-ca with the trusted CAs, the Secret <name>-cert; its status, events, and expiration
// metrics.
//
// A CA is replaced in two phases: the successor is trusted first, and signs after all clients have had time to learn of it; the old CA
// stays trusted until the certificates that it signed have expired. The operator may be killed between any two writes, since each decision
// depends only on the objects.
//
// The controller never publishes a certificate that is not trusted by a bundle published long enough before, never signs with a CA that was
// not published first, and never adopts a Secret or ConfigMap of a third party. It uses no Service and no webhook, so that it works before
// there is a network. It reads Secrets by name, and only in namespaces with an OperatorPKI.
package pki

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "pki"
	// fieldManager owns the fields that the controller writes.
	fieldManager = client.FieldOwner("cluster-network-operator/pki")
	// resyncInterval is the interval at which Secrets and ConfigMaps are read. They are not watched, because that requires permission to
	// list Secrets.
	resyncInterval = time.Minute
	// permissionRetry is the delay after a permission was granted, until it is effective.
	permissionRetry = 200 * time.Millisecond
	// retryFirst and retryLast are the first and the maximum delay before a failed reconcile is retried.
	retryFirst, retryLast = 50 * time.Millisecond, 30 * time.Second
	// reconcileTimeout limits a reconcile, so that a new certificate is published soon after it is issued.
	reconcileTimeout = 30 * time.Second
)

// Controller reconciles OperatorPKIs. All fields up to Log must be set.
type Controller struct {
	// Client reads OperatorPKIs from the manager's cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Account is the operator's service account, which gets permission for the Secrets of a namespace.
	Account client.ObjectKey
	// OfCluster reports whether a namespace belongs to the cluster. Failures in users' namespaces do not affect the cluster's status.
	OfCluster func(namespace string) bool
	// Report sets the findings for the cluster's status.
	Report  func(...status.Finding)
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	permissions permissions
	failures    failures
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{networkv1.GroupVersion.WithKind("OperatorPKI").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: retryFirst, LastRetry: retryLast},
		loop.On(mgr, &networkv1.OperatorPKI{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{}))
}

// Reconcile updates the objects and the status of one OperatorPKI.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var pki networkv1.OperatorPKI
	err := c.Client.Get(ctx, request.NamespacedName, &pki)
	if apierrors.IsNotFound(err) || err == nil && pki.DeletionTimestamp != nil {
		c.Metrics.forget(request.NamespacedName)
		c.setFailure(request.NamespacedName, "")
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read operator PKI: %w", err)
	}
	reconcileCtx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	plan, failure := c.sync(reconcileCtx, &pki)
	if isPermissionPending(failure) {
		return reconcile.Result{RequeueAfter: permissionRetry}, nil
	}
	if apierrors.HasStatusCause(failure, corev1.NamespaceTerminatingCause) {
		return reconcile.Result{}, nil // the OperatorPKI is deleted with the namespace
	}
	if err := c.publish(ctx, &pki, plan, failure); err != nil {
		return reconcile.Result{}, err
	}
	if failure != nil && !isNameTaken(failure) {
		return reconcile.Result{}, failure
	}
	requeueAfter := resyncInterval
	if plan != nil {
		requeueAfter = min(requeueAfter, max(plan.Due.Sub(c.Now()), time.Second))
	}
	return reconcile.Result{RequeueAfter: requeueAfter}, nil
}

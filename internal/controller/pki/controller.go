// Package pki makes the authority and the certificate of each OperatorPKI, and replaces them in time.
//
// Input: the OperatorPKIs of all namespaces, and what is in their Secrets and ConfigMaps. Output, in the namespace of each and
// owned by it: the Secret <name>-ca with the authority that signs, the ConfigMap <name>-ca with those to trust, the Secret
// <name>-cert; its status, events, and the metric of what expires when.
//
// An authority is replaced in two phases: its successor is trusted first, signs when all who trust it have had the time to
// learn of it, and what it replaces is trusted until nothing that it signed is valid. The operator may be killed between any
// two writes: what it decides next follows from what is there.
//
// It must never publish a certificate that is not trusted by a bundle published long enough before, never let an authority
// sign that was not published first, and never take over a Secret or ConfigMap that a third party has made. It uses no
// service and no webhook, so that it works before there is a network. It reads Secrets by their names, and only in
// namespaces with an OperatorPKI.
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
	// Name is the name of the loop in logs and on the board.
	Name = "pki"
	// fieldManager owns the fields of what the loop makes.
	fieldManager = client.FieldOwner("cluster-network-operator/pki")
	// lookAgain is how often Secrets and ConfigMaps are looked at. They are not watched: that would take the right to list
	// Secrets.
	lookAgain = time.Minute
	// lookSoon is when to try again after a right was given, which takes the API server a moment.
	lookSoon = 200 * time.Millisecond
	// retryFirst and retryLast are how soon a failed pass is repeated, at first and at most.
	retryFirst, retryLast = 50 * time.Millisecond, 30 * time.Second
	// passLimit bounds a pass, so that what is made in it is published soon after.
	passLimit = 30 * time.Second
)

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads OperatorPKIs from the manager's cache, and writes.
	Client client.Client
	// Live reads what is not cached.
	Live client.Reader
	// Account is the operator's own service account, which gets the right to the Secrets of a namespace.
	Account client.ObjectKey
	// OfCluster reports whether a namespace is the cluster's, not a user's: what fails there is a problem of the cluster.
	OfCluster func(namespace string) bool
	// Report says how things stand for the cluster.
	Report  func(...status.Finding)
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	rights   rights
	troubles troubles
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{networkv1.GroupVersion.WithKind("OperatorPKI").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: retryFirst, LastRetry: retryLast},
		loop.On(mgr, &networkv1.OperatorPKI{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{}))
}

// Reconcile brings one OperatorPKI to where it ought to be now.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var pki networkv1.OperatorPKI
	err := c.Client.Get(ctx, request.NamespacedName, &pki)
	if apierrors.IsNotFound(err) || err == nil && pki.DeletionTimestamp != nil {
		c.Metrics.forget(request.NamespacedName)
		c.settle(request.NamespacedName, "")
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read operator PKI: %w", err)
	}
	pass, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()
	plan, failure := c.bring(pass, &pki)
	if rightsAreComing(failure) {
		return reconcile.Result{RequeueAfter: lookSoon}, nil
	}
	if apierrors.HasStatusCause(failure, corev1.NamespaceTerminatingCause) {
		return reconcile.Result{}, nil // it goes, and the OperatorPKI with it
	}
	if err := c.publish(ctx, &pki, plan, failure); err != nil {
		return reconcile.Result{}, err
	}
	if failure != nil && !isTaken(failure) {
		return reconcile.Result{}, failure
	}
	again := lookAgain
	if plan != nil {
		again = min(again, max(plan.Due.Sub(c.Now()), time.Second))
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// Package signer signs the certificates that nodes request from network.openshift.io/signer for IPsec.
//
// Input: CertificateSigningRequests for that signer, the Node of the requester, and the CA in the Secret
// openshift-ovn-kubernetes/signer-ca. Output: each request is approved and signed, or denied with all violated rules; events and metrics.
//
// The controller never signs a name, address or usage that is not the requester's own, never approves a denied request, and never modifies
// a finished one. It reads single nodes and never lists them from the API server. Errors of a request are reported on the request; a
// missing or invalid CA is reported on the cluster's status while a request waits for it.
package signer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "signer"
	// SignerName is the signer name of the controller.
	SignerName = "network.openshift.io/signer"
	// fieldManager owns the fields that the controller writes.
	fieldManager = client.FieldOwner("cluster-network-operator/signer")
	// workers is the number of requests that are processed concurrently. Each takes two writes, which is mostly waiting.
	workers = 8
	// backdate is how far before now certificates become valid, for nodes whose clocks are slow.
	backdate = 5 * time.Minute
	// retryFirst and retryLast are the first and the maximum delay before a failed reconcile is retried.
	retryFirst, retryLast = 50 * time.Millisecond, 30 * time.Second
)

// Controller signs requests. All fields up to Log must be set.
type Controller struct {
	// Client reads requests and nodes from caches, and writes.
	Client client.Client
	// Live reads from the API server: the CA, and a node before a request is refused because of the node's cached state.
	Live client.Reader
	// Namespace is the operator's namespace, for the record of identities.
	Namespace string
	// Policy are the rules for certificates of nodes.
	Policy Policy
	// Report sets the findings for the cluster's status.
	Report  func(...status.Finding)
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	ca      caCache
	limiter limiter
	ledger  ledger
	record  record
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	if err := indexNodes(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	// Finished requests are skipped. Deletions are not, since a deleted request may be pending.
	open := func(o client.Object) bool {
		csr, ok := o.(*certificatesv1.CertificateSigningRequest)
		return ok && csr.Spec.SignerName == SignerName && !Finished(csr)
	}
	err := loop.Add(mgr, Name, c.Reconcile, loop.Options{Workers: workers, FirstRetry: retryFirst, LastRetry: retryLast},
		loop.On(mgr, &certificatesv1.CertificateSigningRequest{}, &handler.EnqueueRequestForObject{}, predicate.Funcs{
			CreateFunc: func(e event.CreateEvent) bool { return open(e.Object) },
			UpdateFunc: func(e event.UpdateEvent) bool { return open(e.ObjectNew) },
		}))
	if err != nil {
		return err
	}
	c.record.wake.Delay = recordDelay
	return loop.Add(mgr, Name+"-identities", c.recordIdentities, loop.Options{},
		c.record.wake.Source(), loop.On(mgr, &corev1.Node{}, c.record.wake.Handler(), identityChanged()))
}

// Reconcile answers one request.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	err := c.Client.Get(ctx, request.NamespacedName, csr)
	if apierrors.IsNotFound(err) {
		c.ledger.forget(request.Name)
		c.report()
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read certificate signing request: %w", err)
	}
	if csr.Spec.SignerName != SignerName || Finished(csr) || c.ledger.done(csr) {
		c.recordResult(csr, nil)
		return reconcile.Result{}, nil
	}
	if wait := c.admit(csr); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	decision, err := c.decide(ctx, csr)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = c.execute(ctx, csr, decision)
	if !isCAError(err) && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		// A third party has answered, or the cache is stale.
		return reconcile.Result{RequeueAfter: retryFirst}, nil
	}
	c.recordResult(csr, err)
	if isCAError(err) {
		return reconcile.Result{RequeueAfter: caRefresh}, nil
	}
	return reconcile.Result{}, err
}

// admit returns how long a request has to wait for its turn.
func (c *Controller) admit(csr *certificatesv1.CertificateSigningRequest) time.Duration {
	wait, fresh := c.ledger.turn(csr, c.Now(), func() time.Time { return c.limiter.reserve(c.requester(csr), c.Now()) })
	if wait > 0 && fresh {
		c.Metrics.delayed.Inc()
		c.event(csr, true, "CSRDelayed", fmt.Sprintf("%s has made many requests; this one waits for %s", c.requester(csr), wait.Round(time.Second)))
	}
	return wait
}

// requester returns the key for rate limiting: the node, since all nodes may share one service account, or the user.
func (c *Controller) requester(csr *certificatesv1.CertificateSigningRequest) string {
	if name, ok := c.Policy.NodeOf(csr); ok {
		return userPrefix + name
	}
	return csr.Spec.Username
}

// decide reads the node and decides. A refusal is never based on the cached state of a node alone.
func (c *Controller) decide(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (Decision, error) {
	if err := c.load(ctx); err != nil {
		return Decision{}, err
	}
	c.record.enable()
	name, ok := c.Policy.NodeOf(csr)
	if !ok {
		return Decide(csr, Node{}, c.Policy, c.Now()), nil
	}
	node, err := readNode(ctx, c.Client, c.Client, c.record.holder, name)
	if err != nil {
		return Decision{}, err
	}
	decision := Decide(csr, node, c.Policy, c.Now())
	if !decision.OfNode() {
		return decision, nil
	}
	if node, err = readNode(ctx, c.Live, c.Client, c.record.holder, name); err != nil {
		return Decision{}, err
	}
	return Decide(csr, node, c.Policy, c.Now()), nil
}

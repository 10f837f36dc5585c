// Package signer signs the certificates that nodes request of network.openshift.io/signer, which their IPsec needs.
//
// Input: CertificateSigningRequests of that signer, the node that the requester is, and the authority in the Secret
// openshift-ovn-kubernetes/signer-ca. Output: each request is approved and signed, or denied with every rule that it breaks;
// events, and metrics.
//
// It must never sign a name, an address or a usage that is not the requester's own, approve what someone has denied, or touch
// a request that is finished. It never has the API server list nodes: it reads the one that a request is about. What is wrong with a request is
// said on the request; what is wrong with the authority is the cluster's trouble, for as long as a request waits for it.
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
	// Name is the name of the loop in logs and on the board.
	Name = "signer"
	// SignerName is the signer that the loop is.
	SignerName = "network.openshift.io/signer"
	// fieldManager owns the fields of what the loop writes.
	fieldManager = client.FieldOwner("cluster-network-operator/signer")
	// workers are how many requests are dealt with at once: two writes each, which is mostly waiting.
	workers = 8
	// backdate is how far in the past certificates begin to be valid, for nodes whose clocks are late.
	backdate = 5 * time.Minute
	// retryFirst and retryLast are how soon a failed pass is repeated, at first and at most.
	retryFirst, retryLast = 50 * time.Millisecond, 30 * time.Second
)

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads requests and nodes from caches, and writes.
	Client client.Client
	// Live reads the authority, and a node before something is refused because of what the cache says of it.
	Live client.Reader
	// Namespace is the operator's, for the record of identities.
	Namespace string
	// Policy is what nodes may have.
	Policy Policy
	// Report says how things stand for the cluster.
	Report  func(...status.Finding)
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	authority authority
	limiter   limiter
	ledger    ledger
	record    record
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Owns: owns(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	if err := indexNodes(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	// What is finished needs no look, except that what goes may be waiting.
	open := func(o client.Object) bool {
		csr, is := o.(*certificatesv1.CertificateSigningRequest)
		return is && csr.Spec.SignerName == SignerName && !Finished(csr)
	}
	err := loop.Add(mgr, Name, c.Reconcile, loop.Options{Workers: workers, FirstRetry: retryFirst, LastRetry: retryLast},
		loop.On(mgr, &certificatesv1.CertificateSigningRequest{}, &handler.EnqueueRequestForObject{}, predicate.Funcs{
			CreateFunc: func(e event.CreateEvent) bool { return open(e.Object) },
			UpdateFunc: func(e event.UpdateEvent) bool { return open(e.ObjectNew) },
		}))
	if err != nil {
		return err
	}
	c.record.wake.Delay = collect
	return loop.Add(mgr, Name+"-identities", c.keep, loop.Options{},
		c.record.wake.Source(), loop.On(mgr, &corev1.Node{}, c.record.wake.Handler(), otherIdentity()))
}

// Reconcile answers one request.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	err := c.Client.Get(ctx, request.NamespacedName, csr)
	if apierrors.IsNotFound(err) {
		c.ledger.forget(request.Name)
		c.say()
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read certificate signing request: %w", err)
	}
	if csr.Spec.SignerName != SignerName || Finished(csr) || c.ledger.done(csr) {
		c.settle(csr, nil)
		return reconcile.Result{}, nil
	}
	if wait := c.admit(csr); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	decision, err := c.decide(ctx, csr)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = c.carryOut(ctx, csr, decision)
	if !isAuthority(err) && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		// A third party has answered, or the cache has yet to see what was written.
		return reconcile.Result{RequeueAfter: retryFirst}, nil
	}
	c.settle(csr, err)
	if isAuthority(err) {
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	return reconcile.Result{}, err
}

// admit returns how long a request has to wait for its turn.
func (c *Controller) admit(csr *certificatesv1.CertificateSigningRequest) time.Duration {
	wait, fresh := c.ledger.turn(csr, c.Now(), func() time.Time { return c.limiter.reserve(c.requester(csr), c.Now()) })
	if wait > 0 && fresh {
		c.Metrics.delayed.Inc()
		c.tell(csr, true, "CSRDelayed", fmt.Sprintf("%s has made many requests; this one waits for %s", c.requester(csr), wait.Round(time.Second)))
	}
	return wait
}

// requester is whose turn a request uses: the nodes of one service account do not share turns.
func (c *Controller) requester(csr *certificatesv1.CertificateSigningRequest) string {
	if name, ok := c.Policy.NodeOf(csr); ok {
		return userPrefix + name
	}
	return csr.Spec.Username
}

// decide asks for the facts and decides. What the cache does not know (yet) of a node is never a reason for a refusal.
func (c *Controller) decide(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (Decision, error) {
	if err := c.load(ctx); err != nil {
		return Decision{}, err
	}
	c.record.use()
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

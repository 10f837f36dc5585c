// Package etcdmanager manages the etcd that the operator runs for a network: its members, certificates, users and databases. It also connects to external
// etcds, with copies of the certificates that a user configured.
//
// It is the network-independent part of a network's controller. In each reconcile, the controller calls Gather and Start, then Manage, or Observe while the
// network must not be changed, and uses Run.Etcd if the result is ok. It reports Run.Findings, and requeues after Run.RequeueAfter.
//
// It must never start two etcd clusters at the same time.
package etcdmanager

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// Soon is the requeue interval while an operation is in progress.
	Soon = time.Second
	// Later is the requeue interval otherwise, to renew certificates and to detect members that have stopped. Such a reconcile sends no
	// request to the API server.
	Later = 30 * time.Second
	// Instantly is the requeue interval after a conflict.
	Instantly = 100 * time.Millisecond
	// maxRetryDelay is the maximum requeue interval after etcd did not answer.
	maxRetryDelay = 30 * time.Second
)

// ErrStale ends a reconcile that has changed its own inputs. The controller reports nothing and requeues after Run.RequeueAfter.
var ErrStale = errors.New("the record of etcd's members has changed")

// Deps are the dependencies of a Manager.
type Deps struct {
	// Cluster names the etcd.
	Cluster etcdcluster.Cluster
	// Client writes objects, and reads ConfigMaps and Secrets of the network's and the operator's namespaces, preferably from a cache.
	Client client.Client
	// Nodes returns all nodes with labels, addresses and conditions. The Manager does not change them.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads without a cache: the record of members before irreversible operations, and the Deployments of members during updates.
	Live client.Reader
	// Namespace is the operator's namespace.
	Namespace string
	// Timeout is the timeout of requests to etcd; 0 means 5 seconds.
	Timeout time.Duration
	// Dial connects to etcd; nil means etcdclient.Dial.
	Dial func(etcdclient.Target) (etcdclient.Etcd, error)
	// Changed is called after changes of the network's keys; it must not be nil.
	Changed func()
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Requests returns the requests of nodes for certificates; nil lists them with Live.
	Requests func(context.Context) ([]certificatesv1.CertificateSigningRequest, error)
	// Token returns a new token; nil returns 8 random hexadecimal digits.
	Token func() string
	// Expires receives the expiry of the certificates of the managed etcd after every reconcile; it may be nil.
	Expires func([]loop.Certificate)
	// Databases receives the sizes of the databases of the managed etcd after every reconcile; it may be nil.
	Databases func([]DatabaseSize)
	// Log logs changes; nil means slog.Default().
	Log *slog.Logger
}

// Manager has the state that outlives a reconcile: the connection, and the times since which members are in a state. A new Manager starts all grace periods
// again.
type Manager struct {
	deps        Deps
	cluster     etcdcluster.Cluster
	owner       client.FieldOwner
	connection  connection
	since       Memory
	granted     granted
	maintenance maintenance
}

// New returns a Manager without a connection.
func New(d Deps) *Manager {
	if d.Dial == nil {
		d.Dial = etcdclient.Dial
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Token == nil {
		d.Token = randomToken
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	e := &Manager{deps: d, cluster: d.Cluster, owner: Owner(d.Cluster), since: Memory{}}
	if e.deps.Requests == nil {
		e.deps.Requests = e.listedRequests
	}
	return e
}

// Owner returns the field manager of a network's objects.
func Owner(c etcdcluster.Cluster) client.FieldOwner {
	return client.FieldOwner("cluster-network-operator/" + c.Network)
}

func randomToken() string {
	raw := make([]byte, 4)
	rand.Read(raw) // documented to never fail
	return hex.EncodeToString(raw)
}

// Close closes the connection to etcd.
func (e *Manager) Close() { e.connection.close() }

// Reset clears all state, for a network that was removed.
func (e *Manager) Reset() {
	e.connection.close()
	e.since, e.maintenance = Memory{}, maintenance{}
	if e.deps.Expires != nil {
		e.deps.Expires(nil)
	}
	if e.deps.Databases != nil {
		e.deps.Databases(nil)
	}
}

// Run is a reconcile.
type Run struct {
	*Manager
	// Inputs are the result of Gather. Members is the record from before the reconcile.
	Inputs
	// Etcd is nil while there is no endpoint to connect to.
	Etcd etcdclient.Etcd
	// Findings are the findings of the reconcile.
	Findings []status.Finding
	// RequeueAfter is the requeue interval.
	RequeueAfter time.Duration
	// Down has the addresses (host:port) of members that do not answer the operator.
	Down map[string]bool
}

// Start starts a reconcile.
func (e *Manager) Start(in Inputs) *Run { return &Run{Manager: e, Inputs: in, RequeueAfter: Later} }

// Manage manages certificates, certificate requests and members, in this order. ok is false while the network cannot use etcd, which the findings explain;
// if ok is true, Etcd may still be nil. Errors are ErrStale and those of the API server.
func (r *Run) Manage(ctx context.Context) (ok bool, err error) {
	cred, problem, err := r.credentials(ctx)
	if err != nil {
		return false, err
	}
	if problem != "" {
		f := r.Finding(status.Degraded, "EtcdCredentials", problem)
		f.Immediate = true // only the user can create them
		r.Findings = append(r.Findings, f)
		return false, nil
	}
	if err := r.connect(cred); err != nil {
		return false, err
	}
	if r.Settings.Managed == nil {
		return true, nil
	}
	if err := r.handleRequests(ctx); err != nil {
		return false, err
	}
	return r.membership(ctx, cred)
}

// credentials manages the certificates, and updates ClientTrust in the record. problem is a message if an object that the user must create is missing or
// invalid.
func (r *Run) credentials(ctx context.Context) (cred credentials, problem string, err error) {
	if x := r.Settings.External; x != nil {
		cred, problem, err = r.copyExternal(ctx, *x)
	} else {
		cred, err = r.ensureManaged(ctx, r.Members.Members, r.Members.NodeIdentity)
	}
	if err != nil || problem != "" || r.Members.ClientTrust == cred.clientTrust() {
		return cred, problem, err
	}
	if r.Settings.Managed != nil && len(r.Members.Members) == 0 {
		return cred, "", nil // it is written with the first members
	}
	next := r.Members
	next.ClientTrust = cred.clientTrust()
	return cred, "", r.save(ctx, next, "the client certificate of agents has changed")
}

// Finding returns a finding about the network.
func (e *Manager) Finding(effect status.Effect, reason, message string) status.Finding {
	return status.Finding{Component: e.cluster.Component, Effect: effect, Reason: reason, Message: message}
}

// Requeue requests a reconcile after a duration, unless an earlier one is requested.
func (r *Run) Requeue(d time.Duration) { r.RequeueAfter = min(r.RequeueAfter, d) }

// Failed records that etcd did not answer, and requeues with back-off: after 1, 2, 4 ... 30 seconds.
func (r *Run) Failed() {
	r.Requeue(min(maxRetryDelay, Soon<<min(r.connection.failures, 10)))
	r.connection.failures++
}

// Succeeded records that etcd answered.
func (r *Run) Succeeded() { r.connection.failures = 0 }

// Memory has the time since which each condition is true, by key.
type Memory map[string]time.Time

// Note records whether a condition is true now. It keeps the time at which the condition became true, and removes it when the condition is false.
func (m Memory) Note(key string, active bool, now time.Time) {
	if _, exists := m[key]; active && !exists {
		m[key] = now
	} else if !active {
		delete(m, key)
	}
}

// wrap adds the name of the etcd to an error.
func (e *Manager) wrap(err error) error { return fmt.Errorf("%s: %w", e.cluster.Title(), err) }

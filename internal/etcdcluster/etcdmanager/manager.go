// Package etcdmanager manages the etcd that the operator runs for a network: its members, their certificates, who may do what in it, and
// its databases. It also connects to an etcd that a third party runs, with copies of the certificates that a user has named.
//
// It is the part of a network's controller that does not depend on the network. In each reconcile, the controller calls Gather and Start,
// then Manage, or Observe while the network must not be changed, and works with Run.Etcd if that says so. It reports Run.Findings, and
// requests the next reconcile after Run.Again.
//
// It must never start two etcd clusters side by side.
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
	// Soon is when to reconcile again while something is in progress.
	Soon = time.Second
	// Later is when to reconcile again when all is well: certificates may be due, and members may have stopped. It causes no
	// request to the API server.
	Later = 30 * time.Second
	// Instantly is when to reconcile again after another client was quicker.
	Instantly = 100 * time.Millisecond
	// mostWait is the longest time before an etcd that did not answer is tried again.
	mostWait = 30 * time.Second
)

// ErrStale ends a reconcile that has changed what it uses. The next one follows after Run.Again; nothing is to be reported.
var ErrStale = errors.New("the record of etcd's members has changed")

// Deps are what a Manager works with.
type Deps struct {
	// Cluster names the etcd.
	Cluster etcdcluster.Cluster
	// Client writes, and reads the ConfigMaps and Secrets of the network's and of the operator's namespace, best from a cache.
	Client client.Client
	// Nodes returns all nodes, which are not changed. They need their labels, addresses and conditions.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads past any cache: the record of members before something is done that cannot be undone, and
	// the Deployments of members while they are being updated.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Timeout is how long one request to etcd may take; 0 is 5 seconds.
	Timeout time.Duration
	// Dial connects to etcd; nil is etcdclient.Dial.
	Dial func(etcdclient.Target) (etcdclient.Etcd, error)
	// Changed is called after changes of the network's keys; it must not be nil.
	Changed func()
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Requests returns the requests of nodes for certificates; nil lists them with Live.
	Requests func(context.Context) ([]certificatesv1.CertificateSigningRequest, error)
	// Token returns a text that was never used; nil is 8 random hexadecimal digits.
	Token func() string
	// Expires takes when the certificates of the managed etcd expire, after every reconcile; nil if no one needs it.
	Expires func([]loop.Certificate)
	// Databases takes the sizes of the databases of the managed etcd, after every reconcile; nil if no one needs it.
	Databases func([]DatabaseSize)
	// Log takes what was changed; nil is slog.Default().
	Log *slog.Logger
}

// Manager keeps what outlives a reconcile: the connection, and since when members have been in a state. A new one starts every grace
// period again, and does no harm otherwise.
type Manager struct {
	deps    Deps
	cluster etcdcluster.Cluster
	owner   client.FieldOwner
	link    link
	since   Memory
	granted granted
	upkeep  upkeep
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

// Owner is the field manager of what is written for the network of a cluster.
func Owner(c etcdcluster.Cluster) client.FieldOwner {
	return client.FieldOwner("cluster-network-operator/" + c.Network)
}

func randomToken() string {
	raw := make([]byte, 4)
	rand.Read(raw) // never fails, says its documentation
	return hex.EncodeToString(raw)
}

// Close closes the connection to etcd.
func (e *Manager) Close() { e.link.close() }

// Reset forgets the etcd, for a network that was removed.
func (e *Manager) Reset() {
	e.link.close()
	e.since, e.upkeep = Memory{}, upkeep{}
	if e.deps.Expires != nil {
		e.deps.Expires(nil)
	}
	if e.deps.Databases != nil {
		e.deps.Databases(nil)
	}
}

// Run is one reconcile.
type Run struct {
	*Manager
	// Inputs are those of Gather. The members are those of before the reconcile.
	Inputs
	// Etcd is nil while there is no one to connect to.
	Etcd etcdclient.Etcd
	// Findings are to be reported.
	Findings []status.Finding
	// Again is when to reconcile again.
	Again time.Duration
	// Down are the addresses (host:port) of members that do not answer the operator.
	Down map[string]bool
}

// Start begins a reconcile.
func (e *Manager) Start(in Inputs) *Run { return &Run{Manager: e, Inputs: in, Again: Later} }

// Manage goes through certificates, requests and members in the order in which they need one another. ok is false while the network
// cannot work with etcd, which the findings explain; with ok, Etcd may still be nil. Errors are ErrStale and those of the API server.
func (r *Run) Manage(ctx context.Context) (ok bool, err error) {
	cred, problem, err := r.credentials(ctx)
	if err != nil {
		return false, err
	}
	if problem != "" {
		f := r.Finding(status.Degraded, "EtcdCredentials", problem)
		f.Immediate = true // only the user can make them
		r.Findings = append(r.Findings, f)
		return false, nil
	}
	if err := r.connect(cred); err != nil {
		return false, err
	}
	if r.Settings.Managed == nil {
		return true, nil
	}
	if err := r.answerRequests(ctx); err != nil {
		return false, err
	}
	return r.membership(ctx, cred)
}

// credentials manages the certificates, and notes in the record what agents are given. The problem is a sentence if
// they cannot be had for lack of something that a user has to make.
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
	return cred, "", r.save(ctx, next, "what agents present to etcd has changed")
}

// Finding returns a finding about the network.
func (e *Manager) Finding(effect status.Effect, reason, message string) status.Finding {
	return status.Finding{Component: e.cluster.Component, Effect: effect, Reason: reason, Message: message}
}

// Soonest requests another reconcile after a time, unless one was requested for before that.
func (r *Run) Soonest(d time.Duration) { r.Again = min(r.Again, d) }

// Failed notes that etcd did not answer, and when to try again: after 1, 2, 4 ... 30 seconds.
func (r *Run) Failed() {
	r.Soonest(min(mostWait, Soon<<min(r.link.failures, 10)))
	r.link.failures++
}

// Succeeded notes that etcd answered.
func (r *Run) Succeeded() { r.link.failures = 0 }

// Memory says since when things have been so.
type Memory map[string]time.Time

// Note remembers since when a thing has been so, and forgets it when it is not.
func (m Memory) Note(what string, is bool, now time.Time) {
	if _, known := m[what]; is && !known {
		m[what] = now
	} else if !is {
		delete(m, what)
	}
}

// wrap adds the name of the etcd to an error.
func (e *Manager) wrap(err error) error { return fmt.Errorf("%s: %w", e.cluster.Title(), err) }

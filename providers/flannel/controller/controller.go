// Package controller is the operator's loop for flannel. It manages the etcd in which flannel keeps which node
// has which subnet.
//
// Input: what rendering has written in the ConfigMap flannel-config, the nodes, and etcd. Output: the certificates
// of the managed etcd (or copies of those for an external one), the ConfigMap flannel-etcd-members from which the
// members are rendered, flannel's network configuration in etcd, reservations that go with their nodes, and
// findings for the conditions. While there is no flannel-config, it does nothing at all.
//
// It must never start two etcd clusters side by side, give the subnet of a node away that still exists, or touch
// what nodes do: while etcd is gone, pods go on talking.
package controller

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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// owner is the field manager of what the loop writes.
const owner = client.FieldOwner("cluster-network-operator/flannel")

const (
	// soon is when to look again while something is on its way.
	soon = time.Second
	// later is when to look again when all is well: at certificates, and at members that do not answer. It causes no
	// request to the API server.
	later = 30 * time.Second
	// mostWait is the most that the loop waits before it tries an etcd again that did not answer.
	mostWait = 30 * time.Second
)

// Deps are what the loop works with.
type Deps struct {
	// Client writes, and reads Nodes, and the ConfigMaps and Secrets of flannel's and of the operator's namespace,
	// best from a cache. Node objects need their labels, addresses and conditions.
	Client client.Client
	// Nodes returns all nodes, for looking at only; nil lists them with Client.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads past any cache: Nodes and the record of members before something is done that cannot be undone, and
	// the Deployments of members while they are being updated.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Timeout is how long one request to etcd may take; 0 is 5 seconds.
	Timeout time.Duration
	// Managed reports whether the network may be changed. If not, it is only observed; nil means that it may always be.
	Managed func(context.Context) (bool, error)
	// Dial connects to etcd; nil is Dial.
	Dial func(Target) (Etcd, error)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Requests returns the requests of nodes for certificates; nil lists them with Live.
	Requests func(context.Context) ([]certificatesv1.CertificateSigningRequest, error)
	// Token returns a text that was never used; nil is 8 random hexadecimal digits.
	Token func() string
	// Report takes what the loop has to say, after every pass. None means that all is well.
	Report func(...status.Finding)
	// Expires takes when the certificates of the managed etcd expire, after every reconcile; nil if no one needs it.
	Expires func([]loop.Certificate)
	// Databases takes the sizes of the databases of the managed etcd, after every reconcile; nil if no one needs it.
	Databases func([]DatabaseSize)
	// Log takes what was changed.
	Log *slog.Logger
}

// Controller is the loop. It reconciles one thing, whatever the request.
type Controller struct {
	deps    Deps
	trigger *trigger.Trigger
	link    link
	since   memory
	granted granted
	upkeep  upkeep
	moves   movements
}

// New returns a loop. Its watches are set up with Setup; a test may call Reconcile by itself.
func New(d Deps) *Controller {
	if d.Dial == nil {
		d.Dial = Dial
	}
	if d.Nodes == nil {
		d.Nodes = d.listed
	}
	if d.Requests == nil {
		d.Requests = d.listedRequests
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
	if d.Report == nil {
		d.Report = func(...status.Finding) {}
	}
	return &Controller{deps: d, trigger: &trigger.Trigger{Delay: 200 * time.Millisecond}, since: memory{}, moves: movements{}}
}

// listed returns all nodes as Client lists them.
func (d Deps) listed(ctx context.Context) ([]*corev1.Node, error) {
	var list corev1.NodeList
	if err := d.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}
	return nodes, nil
}

func randomToken() string {
	raw := make([]byte, 4)
	rand.Read(raw) // never fails, says its documentation
	return hex.EncodeToString(raw)
}

// Close ends the connection to etcd.
func (c *Controller) Close() { c.link.close() }

// Reconcile makes one pass. It does at most one thing to the membership of etcd, and asks to be called again until
// there is nothing left to do. An etcd that does not answer is no error of the pass, but a finding.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	in, active, err := c.gather(ctx)
	if err != nil {
		c.deps.Report(failure(err))
		return reconcile.Result{}, err
	}
	if !active {
		c.link.close()
		c.since, c.moves = memory{}, movements{}
		c.upkeep = upkeep{}
		if c.deps.Expires != nil {
			c.deps.Expires(nil)
		}
		if c.deps.Databases != nil {
			c.deps.Databases(nil)
		}
		c.deps.Report()
		return reconcile.Result{}, nil
	}
	p := pass{Controller: c, in: in, again: later}
	managed, err := c.managed(ctx)
	switch {
	case err != nil:
	case managed:
		err = p.run(ctx)
	default:
		err = p.observe(ctx)
	}
	if err == nil {
		err = c.reportExpiry(ctx, in)
	}
	if errors.Is(err, errStale) {
		return reconcile.Result{RequeueAfter: p.again}, nil // it has looked at half of it, and says nothing
	}
	if err != nil {
		p.findings = append(p.findings, failure(err))
	}
	c.deps.Report(p.findings...)
	if err != nil {
		return reconcile.Result{}, err // the queue knows when to try again
	}
	return reconcile.Result{RequeueAfter: p.again}, nil
}

func (c *Controller) managed(ctx context.Context) (bool, error) {
	if c.deps.Managed == nil {
		return true, nil
	}
	return c.deps.Managed(ctx)
}

// pass is one look at everything.
type pass struct {
	*Controller
	in inputs
	// etcd is nil while there is no one to connect to.
	etcd     Etcd
	findings []status.Finding
	again    time.Duration
	// down are the addresses (host:port) of members that do not answer the operator.
	down map[string]bool
}

// errStale ends a pass that has changed what it uses. It is none to the outside.
var errStale = errors.New("look again")

// run goes through the parts in the order in which they need one another. Errors are errStale and those of the API
// server.
func (p *pass) run(ctx context.Context) error {
	cred, problem, err := p.credentials(ctx)
	if err != nil {
		return err
	}
	if problem != "" {
		f := finding(status.Degraded, "EtcdCredentials", problem)
		f.Immediate = true // only the user can make them
		p.findings = append(p.findings, f)
		return nil
	}
	if err := p.connect(cred); err != nil {
		return err
	}
	if p.in.settings.Managed != nil {
		if err := p.answerRequests(ctx); err != nil {
			return err
		}
		if known, err := p.membership(ctx, cred); err != nil || !known {
			return err
		}
	}
	return p.keys(ctx)
}

// credentials sees to the certificates, and notes in the record what agents are given. The problem is a sentence if
// they cannot be had for lack of something that a user has to make.
func (p *pass) credentials(ctx context.Context) (cred credentials, problem string, err error) {
	if x := p.in.settings.External; x != nil {
		cred, problem, err = p.copyExternal(ctx, *x)
	} else {
		cred, err = p.ensureManaged(ctx, p.in.members.Members, p.in.members.NodeIdentity)
	}
	if err != nil || problem != "" || p.in.members.ClientTrust == cred.clientTrust() {
		return cred, problem, err
	}
	if p.in.settings.Managed != nil && len(p.in.members.Members) == 0 {
		return cred, "", nil // it is written with the first members
	}
	next := p.in.members
	next.ClientTrust = cred.clientTrust()
	return cred, "", p.save(ctx, next, "what agents present to etcd has changed")
}

func failure(err error) status.Finding {
	return finding(status.Degraded, "FlannelControllerError", fmt.Sprintf("the operator could not manage flannel's etcd: %v", err))
}

func finding(effect status.Effect, reason, message string) status.Finding {
	return status.Finding{Component: record.Component, Effect: effect, Reason: reason, Message: message}
}

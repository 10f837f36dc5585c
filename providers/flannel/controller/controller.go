// Package controller is the operator's controller for flannel. It manages the etcd in which flannel keeps which node
// has which subnet, with package etcdmanager.
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
	"errors"
	"fmt"
	"log/slog"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Deps are what the controller works with. What is nil is what etcdmanager.Deps says, unless it is said here.
type Deps struct {
	// Client writes, and reads Nodes, and the ConfigMaps and Secrets of flannel's and of the operator's namespace,
	// best from a cache. Node objects need their labels, addresses and conditions.
	Client client.Client
	// Nodes returns all nodes, which are not changed; nil lists them with Client.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads past any cache: Nodes, and what etcdmanager.Deps says.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Timeout is how long one request to etcd may take.
	Timeout time.Duration
	// Managed reports whether the network may be changed. If not, it is only observed; nil means that it may always be.
	Managed func(context.Context) (bool, error)
	// Dial connects to etcd.
	Dial func(etcdclient.Target) (etcdclient.Etcd, error)
	// Now is the clock.
	Now func() time.Time
	// Requests returns the requests of nodes for certificates.
	Requests func(context.Context) ([]certificatesv1.CertificateSigningRequest, error)
	// Token returns a text that was never used.
	Token func() string
	// Report takes the findings of every reconcile. None means that all is well.
	Report func(...status.Finding)
	// Expires and Databases take what etcdmanager.Deps says.
	Expires   func([]loop.Certificate)
	Databases func([]etcdmanager.DatabaseSize)
	// Log takes what was changed.
	Log *slog.Logger
}

// Controller is the controller. It reconciles one thing, the same for each request.
type Controller struct {
	deps    Deps
	trigger *trigger.Trigger
	manager *etcdmanager.Manager
	since   etcdmanager.Memory
	moves   movements
	// followSecrets and followRequests have Secrets and requests for certificates watched. setup sets them.
	followSecrets, followRequests func() error
}

// New returns a controller. Its watches are set up with Setup; a test may call Reconcile by itself.
func New(d Deps) *Controller {
	if d.Nodes == nil {
		d.Nodes = d.listed
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Report == nil {
		d.Report = func(...status.Finding) {}
	}
	c := &Controller{deps: d, trigger: &trigger.Trigger{Delay: 200 * time.Millisecond}, since: etcdmanager.Memory{}, moves: movements{}}
	c.manager = etcdmanager.New(etcdmanager.Deps{
		Cluster: record.Etcd, Client: d.Client, Nodes: d.Nodes, Live: d.Live, Namespace: d.Namespace, Timeout: d.Timeout, Dial: d.Dial, Changed: c.trigger.Fire,
		Now: d.Now, Requests: d.Requests, Token: d.Token, Expires: d.Expires, Databases: d.Databases, Log: d.Log,
	})
	return c
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

// Close ends the connection to etcd.
func (c *Controller) Close() { c.manager.Close() }

// Reconcile makes one pass. It does at most one thing to the membership of etcd, and asks to be called again until
// there is nothing left to do. An etcd that does not answer is no error of the pass, but a finding.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	in, active, err := c.gather(ctx)
	if err != nil {
		c.deps.Report(failure(err))
		return reconcile.Result{}, err
	}
	if !active {
		c.manager.Reset()
		c.since, c.moves = etcdmanager.Memory{}, movements{}
		c.deps.Report()
		return reconcile.Result{}, nil
	}
	if err := c.follow(in.settings.Settings); err != nil {
		c.deps.Report(failure(err))
		return reconcile.Result{}, err
	}
	p := pass{Controller: c, Run: c.manager.Start(in.etcd), settings: in.settings, agents: in.agents}
	managed, err := c.managed(ctx)
	switch {
	case err != nil:
	case managed:
		err = p.run(ctx)
	default:
		err = p.observe(ctx)
	}
	if err == nil {
		err = c.manager.ReportExpiry(ctx, in.etcd)
	}
	if errors.Is(err, etcdmanager.ErrStale) {
		return reconcile.Result{RequeueAfter: p.Again}, nil // it has looked at half of it, and says nothing
	}
	if err != nil {
		p.Findings = append(p.Findings, failure(err))
	}
	c.deps.Report(p.Findings...)
	if err != nil {
		return reconcile.Result{}, err // the queue knows when to try again
	}
	return reconcile.Result{RequeueAfter: p.Again}, nil
}

func (c *Controller) managed(ctx context.Context) (bool, error) {
	if c.deps.Managed == nil {
		return true, nil
	}
	return c.deps.Managed(ctx)
}

// pass is one reconcile.
type pass struct {
	*Controller
	*etcdmanager.Run
	settings record.Settings
	agents   agentconfig.Config
}

// run manages etcd, and then what flannel keeps in it.
func (p *pass) run(ctx context.Context) error {
	if ok, err := p.Manage(ctx); err != nil || !ok {
		return err
	}
	return p.keys(ctx)
}

func failure(err error) status.Finding {
	return finding(status.Degraded, "FlannelControllerError", fmt.Sprintf("the operator could not manage flannel's etcd: %v", err))
}

func finding(effect status.Effect, reason, message string) status.Finding {
	return status.Finding{Component: record.Component, Effect: effect, Reason: reason, Message: message}
}

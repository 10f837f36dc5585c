// Package controller is the operator's controller for flannel. It manages the etcd that stores the subnets of flannel's nodes, with package etcdmanager.
//
// Input: the rendered ConfigMap flannel-config, the nodes, and etcd. Output: the certificates of the managed etcd (or copies of those for an external one),
// the ConfigMap flannel-etcd-members from which the members are rendered, flannel's network configuration in etcd, reservations of existing nodes, and
// findings for the conditions. Without flannel-config it does nothing.
//
// Invariants: it never starts a second etcd cluster, never releases the subnet of an existing node, and never affects the data path of nodes: pods keep their
// network while etcd is unavailable.
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

// Deps are the dependencies of the controller. Nil fields have the defaults of etcdmanager.Deps unless documented otherwise.
type Deps struct {
	// Client writes objects, and reads Nodes and the ConfigMaps and Secrets in the namespaces of flannel and the operator, preferably from a cache. Node
	// objects need labels, addresses and conditions.
	Client client.Client
	// Nodes returns all nodes, which are not changed; nil lists them with Client.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads without a cache: Nodes, and the objects of etcdmanager.Deps.
	Live client.Reader
	// Namespace is the operator's namespace.
	Namespace string
	// Timeout is the timeout of a request to etcd.
	Timeout time.Duration
	// Managed reports whether the network may be changed; otherwise it is only observed. Nil means always.
	Managed func(context.Context) (bool, error)
	// Dial connects to etcd.
	Dial func(etcdclient.Target) (etcdclient.Etcd, error)
	// Now is the clock.
	Now func() time.Time
	// Requests returns the CertificateSigningRequests of nodes.
	Requests func(context.Context) ([]certificatesv1.CertificateSigningRequest, error)
	// Token returns a unique text.
	Token func() string
	// Report receives the findings of every reconcile. No findings mean that there are no problems.
	Report func(...status.Finding)
	// Expires and Databases are passed to etcdmanager.Deps.
	Expires   func([]loop.Certificate)
	Databases func([]etcdmanager.DatabaseSize)
	// Log receives the changes.
	Log *slog.Logger
}

// Controller is the controller. All requests reconcile the same state.
type Controller struct {
	deps    Deps
	trigger *trigger.Trigger
	manager *etcdmanager.Manager
	since   etcdmanager.Memory
	moves   movements
	// watchSecrets and watchRequests start the watches of Secrets and CertificateSigningRequests. setup sets them.
	watchSecrets, watchRequests func() error
}

// New returns a controller. Setup adds its watches; a test may call Reconcile directly.
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

// listed returns all nodes from Client.
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

// Close closes the connection to etcd.
func (c *Controller) Close() { c.manager.Close() }

// Reconcile makes at most one change to the membership of etcd, and requests another call until nothing is left to do. An unresponsive etcd is a finding, not
// an error.
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
	if err := c.startWatches(in.settings.Settings); err != nil {
		c.deps.Report(failure(err))
		return reconcile.Result{}, err
	}
	p := reconciliation{Controller: c, Run: c.manager.Start(in.etcd), settings: in.settings, agents: in.agents}
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
		return reconcile.Result{RequeueAfter: p.RequeueAfter}, nil // the observation is incomplete and not reported
	}
	if err != nil {
		p.Findings = append(p.Findings, failure(err))
	}
	c.deps.Report(p.Findings...)
	if err != nil {
		return reconcile.Result{}, err // the queue retries with back-off
	}
	return reconcile.Result{RequeueAfter: p.RequeueAfter}, nil
}

func (c *Controller) managed(ctx context.Context) (bool, error) {
	if c.deps.Managed == nil {
		return true, nil
	}
	return c.deps.Managed(ctx)
}

// reconciliation is one reconcile.
type reconciliation struct {
	*Controller
	*etcdmanager.Run
	settings record.Settings
	agents   agentconfig.Config
}

// run manages etcd, and then flannel's keys.
func (p *reconciliation) run(ctx context.Context) error {
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

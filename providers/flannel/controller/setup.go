package controller

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Name is the name of the controller, on the board and in logs.
const Name = "flannel"

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Secrets: true, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	concerned := predicate.NewPredicateFuncs(c.concerns)
	l, err := loop.New(mgr, Name, c.Reconcile, loop.Options{},
		c.trigger.Source(),
		loop.On(mgr, &corev1.Node{}, loop.Once(), predicate.Funcs{UpdateFunc: etcdmanager.NodeChanged}),
		loop.On(mgr, &corev1.ConfigMap{}, loop.Once(), concerned),
	)
	if err != nil {
		return err
	}
	c.watchSecrets = sync.OnceValue(func() error { return l.Watch(loop.On(mgr, &corev1.Secret{}, loop.Once(), concerned)) })
	c.watchRequests = sync.OnceValue(func() error { return c.manager.WatchRequests(mgr, l) })
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		c.Close()
		return nil
	}))
}

// startWatches starts the watches that an etcd needs: of Secrets unless an external etcd has no TLS, and of CertificateSigningRequests if etcd is managed.
// Unneeded objects are not watched.
func (c *Controller) startWatches(s etcdcluster.Settings) error {
	if c.watchSecrets == nil || s.Managed == nil && (s.External == nil || s.External.CAConfigMap == "") {
		return nil
	}
	if err := c.watchSecrets(); err != nil || s.Managed == nil {
		return err
	}
	return c.watchRequests()
}

// concerns reports whether a ConfigMap or Secret is in a namespace that the controller reads.
func (c *Controller) concerns(o client.Object) bool {
	return o.GetNamespace() == record.Namespace || o.GetNamespace() == c.deps.Namespace && o.GetName() != status.ConfigMapName
}

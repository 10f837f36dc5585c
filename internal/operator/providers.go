package operator

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/controller/pki"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/status"
	flannel "github.com/cluster-network-operator/cno/providers/flannel/controller"
)

// providerLoops lists the controllers of providers. Each provider that has one has an entry.
func providerLoops(s *shared) []loop.Spec {
	s.board.Await(flannel.Name)
	expiration, err := pki.NewMetrics(metrics.Registry)
	if err != nil {
		s.Log.Error("register the metric of certificates of flannel's etcd", "error", err)
	}
	databases, err := flannel.NewMetrics(metrics.Registry)
	if err != nil {
		s.Log.Error("register the metrics of flannel's etcd", "error", err)
	}
	return flannel.New(flannel.Deps{
		Client: s.withSecrets.GetClient(), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Namespace: s.Namespace, Now: time.Now,
		Managed: managed(s.manager.GetClient()), Expires: expirations(expiration), Databases: databases.Databases,
		Report: func(found ...status.Finding) { s.board.Report(flannel.Name, found...) },
		Log:    s.Log.With("controller", flannel.Name),
	}).Specs()
}

// managed returns a function that reports whether the Network may be changed. One that was deleted forbids nothing.
func managed(reader client.Reader) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var network operatorv1.Network
		err := reader.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("read network: %w", err)
		}
		return err != nil || pipeline.Managed(&network), nil
	}
}

// expirations returns a function that keeps the metric of the certificates of flannel's etcd.
func expirations(m *pki.Metrics) func([]flannel.Expiry) {
	seen := map[client.ObjectKey]bool{}
	return func(list []flannel.Expiry) {
		now := map[client.ObjectKey]bool{}
		for _, e := range list {
			m.Set(e.Secret, e.Certificate, e.NotAfter)
			now[e.Secret] = true
		}
		for key := range seen {
			if !now[key] {
				m.Forget(key)
			}
		}
		seen = now
	}
}

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
	"github.com/cluster-network-operator/cno/internal/networks/controllers"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// providerLoops lists the controllers of networks.
func providerLoops(s *shared) []loop.Spec {
	expiration, err := pki.NewMetrics(metrics.Registry)
	if err != nil {
		s.Log.Error("register the metric of certificates of networks", "error", err)
	}
	return controllers.All(loop.Network{
		Client: s.withSecrets.GetClient(), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Namespace: s.Namespace,
		Managed: managed(s.manager.GetClient()), Board: s.board, Certificates: func() func([]loop.Certificate) { return expirations(expiration) },
		Metrics: metrics.Registry, Now: time.Now, Log: s.Log,
	})
}

// managed returns a function that reports whether the Network is managed; true if it was deleted.
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

// expirations returns a function that updates the metric of the certificates of one controller.
func expirations(m *pki.Metrics) func([]loop.Certificate) {
	seen := map[client.ObjectKey]bool{}
	return func(list []loop.Certificate) {
		now := map[client.ObjectKey]bool{}
		for _, c := range list {
			m.Set(c.Secret, c.Name, c.NotAfter)
			now[c.Secret] = true
		}
		for key := range seen {
			if !now[key] {
				m.Forget(key)
			}
		}
		seen = now
	}
}

package operator

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// withMetrics registers the metrics of a controller when it starts, so that none are exported before.
func withMetrics[M any](specs []loop.Spec, create func(prometheus.Registerer) (M, error), into *M) []loop.Spec {
	setup := specs[0].Setup
	specs[0].Setup = func(mgr manager.Manager) (err error) {
		if *into, err = create(metrics.Registry); err != nil {
			return fmt.Errorf("register metrics of %s: %w", specs[0].Name, err)
		}
		return setup(mgr)
	}
	return specs
}

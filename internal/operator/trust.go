package operator

import (
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/cabundleinjection"
	"github.com/cluster-network-operator/cno/internal/controller/proxyconfig"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// trustLoops lists the controllers of the cluster's proxy and of CA bundle injection. Both require OpenShift's Proxy API.
func trustLoops(s *shared) []loop.Spec {
	settings := s.Proxy
	if len(settings.TrustFiles) == 0 {
		settings.TrustFiles = proxyconfig.SystemTrustFiles()
	}
	proxy := &proxyconfig.Controller{
		Live: s.manager.GetAPIReader(), Settings: settings, Board: s.board,
		Events: s.manager.GetEventRecorder(proxyconfig.Name), Now: time.Now, Log: s.Log.With("controller", proxyconfig.Name),
	}
	bundles := &cabundleinjection.Controller{
		Live: s.manager.GetAPIReader(), Board: s.board,
		Events: s.manager.GetEventRecorder(cabundleinjection.Name), Now: time.Now, Log: s.Log.With("controller", cabundleinjection.Name),
	}
	return slices.Concat(withMetrics(proxy.Specs(), proxyconfig.NewMetrics, &proxy.Metrics),
		withMetrics(bundles.Specs(), cabundleinjection.NewMetrics, &bundles.Metrics))
}

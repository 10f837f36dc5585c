package operator

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cluster-network-operator/cno/internal/controller/cabundleinjection"
	"github.com/cluster-network-operator/cno/internal/controller/proxyconfig"
)

// trustLoops lists the loops that put the proxy of the cluster into force, and give away what is to be trusted. Both only
// have to do where OpenShift's Proxy is served.
func trustLoops(s *shared) []loop {
	return []loop{
		{name: proxyconfig.Name, needs: proxyconfig.Needs(), setup: s.setupProxy, owns: proxyconfig.Owns()},
		{name: cabundleinjection.Name, needs: proxyconfig.Needs()[:1], setup: s.setupInjection, owns: cabundleinjection.Owns()},
	}
}

func (s *shared) setupProxy(mgr manager.Manager) error {
	counts, err := proxyconfig.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	settings := s.Proxy
	if len(settings.TrustFiles) == 0 {
		settings.TrustFiles = proxyconfig.SystemTrustFiles()
	}
	c := &proxyconfig.Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Settings: settings, Board: s.board,
		Events: mgr.GetEventRecorder(proxyconfig.Name), Metrics: counts, Now: time.Now, Log: s.Log.With("loop", proxyconfig.Name),
	}
	return c.Setup(mgr)
}

func (s *shared) setupInjection(mgr manager.Manager) error {
	counts, err := cabundleinjection.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	c := &cabundleinjection.Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Board: s.board,
		Events: mgr.GetEventRecorder(cabundleinjection.Name), Metrics: counts, Now: time.Now, Log: s.Log.With("loop", cabundleinjection.Name),
	}
	return c.Setup(mgr)
}

package node

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/addressconflict"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/dhcp"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// RunDHCP runs the daemon that acquires, renews and releases the DHCP leases of a node's pods. It is a separate process, since it enters network namespaces
// and needs capabilities. client is used only for events: leases do not depend on it.
func RunDHCP(ctx context.Context, p agent.Process, config agentconfig.Config, client kubernetes.Interface) error {
	events, err := newEvents(ctx, client)
	if err != nil {
		return err
	}
	daemon := &dhcp.Daemon{
		Dir: config.DHCPDir, Socket: config.DHCPSocket, Legacy: config.DHCPLegacySocket, Log: p.Log,
		Event: func(e dhcp.Event) {
			kind := corev1.EventTypeNormal
			if e.Warning {
				kind = corev1.EventTypeWarning
			}
			events.send(wire.Pod(e.Pod), kind, e.Reason, action, e.Message)
		},
	}
	addresses := &duplicates{
		saved: func() ([]attach.Saved, error) { return attach.ReadSaved(config.StateDir) }, holder: holder, event: events.warn, log: p.Log,
	}
	metrics := newDHCPMetrics(p.Version, daemon)
	metrics.Gauge("duplicate_addresses", "Addresses of pods on further networks that another machine had when the pod started.", func() float64 { return float64(addresses.count()) })
	daemon.Metrics = metrics
	health := agent.Health{
		Ready: func() (bool, agent.Problems) { return daemon.Serves(), agent.Problems{} },
		Beat:  &agent.Beat{}, Now: time.Now, Metrics: metrics,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, config.DHCPHealthAddress) })
	group.Go(func() error { keepSmall(ctx, p.Log); return nil })
	group.Go(func() error { return daemon.Run(ctx) })
	group.Go(func() error { addresses.run(ctx); return nil })
	return group.Wait()
}

// holder returns the other host on the link of a sandbox's interface that has an address.
func holder(netns, name string, address netip.Addr) (mac net.HardwareAddr, found bool, err error) {
	err = inside(netns, func() error {
		var err error
		mac, found, err = addressconflict.Holder(name, address)
		return err
	})
	return mac, found, err
}

// newDHCPMetrics returns the metrics of the DHCP daemon.
func newDHCPMetrics(version string, d *dhcp.Daemon) *metrics {
	m := &metrics{Metrics: agent.NewMetrics("multus_dhcp", version)}
	m.Gauge("leases", "DHCP leases of pods on this node, with those that are lost.", func() float64 {
		all, _ := d.Leases()
		return float64(all)
	})
	m.Gauge("lost_leases", "DHCP leases that expired or were refused: their pods have no address on that network.", func() float64 {
		_, lost := d.Leases()
		return float64(lost)
	})
	m.requests = m.Results("requests_total", "Requests of the plugin dhcp by the CNI code of their result; 0 is success.")
	m.took = m.Histograms("request_seconds", "How long a request of the plugin dhcp takes.", "request", prometheus.ExponentialBuckets(0.001, 2, 16))
	return m
}

package node

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

// metrics are the agent's metrics. They have the names of OpenShift's SDN where it has them.
type metrics struct {
	*agent.Metrics
	operations *prometheus.CounterVec
	podErrors  *prometheus.CounterVec
	podLatency *prometheus.HistogramVec
	vnidErrors prometheus.Counter
	repairs    prometheus.Counter
	// programming has one histogram for each kind of object.
	programming *prometheus.HistogramVec
	flows       atomic.Int64
	assigned    *prometheus.GaugeVec
}

func newMetrics(version string, d *daemon) *metrics {
	m := &metrics{Metrics: agent.NewMetrics("openshift_sdn", version)}
	m.Gauge("ready", "1 once pods can be started.", func() float64 { return agent.Flag(d.board.View().Status.ready) })
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(d.board.View().Problems.Len()) })
	m.Gauge("ovs_flows", "Flows of bridge br0 that were applied last.", func() float64 { return float64(m.flows.Load()) })
	m.Gauge("pod_ips", "Addresses of the node's block that pods have.", func() float64 { return float64(d.addresses.count()) })
	m.Gauge("pod_ips_max", "Addresses of the node's block that pods can have.", func() float64 {
		block := d.board.View().Status.block
		if !block.IsValid() {
			return 0
		}
		return float64(int(1)<<(32-block.Bits()) - 4) // the first and last address, and the node's two
	})
	m.Gauge("arp_cache_entries", "IPv4 neighbors of the node that the kernel knows.", arpCacheEntries)
	if u := d.unidler; u != nil {
		m.Gauge("idled_service_ports", "Ports of Services to which packets are held back while the Services are idled.", func() float64 { return float64(u.ports.Load()) })
		m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "openshift_sdn", Name: "held_packets_total", Help: "Packets to idled Services that were held back."},
			func() float64 { return float64(u.held.Load()) }))
	}
	m.Gauge("fights", "Things that a third party repeatedly changes on the node although the agent restores them; /readyz lists them.", func() float64 { return float64(len(d.repairs.Fights())) })
	m.operations = m.labelled("ovs_operations", "Sets of flows that were applied, by result.", "result_type")
	m.podErrors = m.labelled("pod_operations_errors", "CNI requests that failed, by operation.", "operation_type")
	m.podLatency = m.Histograms("pod_operations_latency", "How long CNI requests took in seconds, by operation.", "operation_type", []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60})
	m.programming = m.Histograms("programming_seconds", "Time from a change of an object to the flows of bridge br0 that follow from it, by kind. Changes without an effect on the flows of the node are not counted.", "kind",
		[]float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30})
	m.vnidErrors = m.Counter("vnid_not_found_errors", "How often the VNID of a pod's namespace was not known.")
	m.assigned = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "openshift_sdn", Name: "assigned_egressip", Help: "Egress IPs that the controller has assigned to the node: 1 if its namespace leaves with it, 0 if the node does not have it; /readyz reports the reason.",
	}, []string{"address", "namespace"})
	m.MustRegister(m.assigned)
	m.repairs = m.Counter("repairs_total", "Changes by third parties on the node that the agent has undone.")
	return m
}

// arpCacheEntries returns the number of IPv4 neighbors of the node; 0 if they cannot be read.
func arpCacheEntries() float64 {
	all, err := netlinkdump.All(func() ([]netlink.Neigh, error) { return netlink.NeighList(0, netlink.FAMILY_V4) })
	if err != nil {
		return 0
	}
	return float64(len(all))
}

// silence adds a gauge for each watch.
func (m *metrics) silence(watches []*watched) {
	for _, w := range watches {
		m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "openshift_sdn", Name: "watch_silence_seconds", ConstLabels: prometheus.Labels{"resource": w.resource},
			Help: "Time since the API server has sent a list, an event or a bookmark of a resource. It sends a bookmark about once a minute.",
		}, func() float64 { return w.silence().Seconds() }))
	}
}

// labelled adds a counter with one label.
func (m *metrics) labelled(name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "openshift_sdn", Name: name, Help: help}, []string{label})
	m.MustRegister(c)
	return c
}

// Done implements cniserver.Metrics.
func (m *metrics) Done(command string, code int, took time.Duration) {
	m.podLatency.WithLabelValues(command).Observe(took.Seconds())
	if code != 0 {
		m.podErrors.WithLabelValues(command).Inc()
	}
}

// egressIPs updates the metric of assigned egress IPs.
func (m *metrics) egressIPs(h egressip.Holding) {
	m.assigned.Reset()
	for _, c := range h.Keep {
		m.assigned.WithLabelValues(c.Address.String(), c.Namespace).Set(1)
	}
	for _, r := range h.Refused {
		m.assigned.WithLabelValues(r.Address.String(), r.Namespace).Set(0)
	}
}

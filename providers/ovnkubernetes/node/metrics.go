package node

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are the agent's metrics.
type metrics struct {
	*agent.Metrics
	requests   *prometheus.CounterVec
	add        prometheus.Histogram
	reconnects prometheus.Counter
	repairs    prometheus.Counter
}

func newMetrics(version string, d *daemonState) *metrics {
	m := &metrics{Metrics: agent.NewMetrics("ovnkube_node", version)}
	m.Gauge("ready", "1 once pods can be started.", func() float64 { return agent.Flag(d.board.View().Status.ready) })
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(d.board.View().Problems.Len()) })
	m.Gauge("ports", "Pods that are connected to the integration bridge.", func() float64 {
		n := 0
		for _, i := range d.vswitch.Interfaces() {
			if i.ExternalIDs[idSandbox] != "" && installed(i) {
				n++
			}
		}
		return float64(n)
	})
	m.requests = m.Results("cni_requests_total", "CNI requests by the code of their error; 0 is success.")
	m.add = m.Histogram("cni_add_seconds", "How long successful ADD requests took, until the pod's flows were installed.", []float64{.05, .1, .2, .5, 1, 2, 5, 10, 20, 40, 80})
	m.reconnects = m.Counter("openvswitch_disconnects_total", "Connections to Open vSwitch's database that failed or ended.")
	m.repairs = m.Counter("repairs_total", "Changes of addresses and routes by third parties on the node that the agent has undone.")
	return m
}

// Done implements cniserver.Metrics.
func (m *metrics) Done(command string, code int, took time.Duration) {
	m.requests.WithLabelValues(strconv.Itoa(code)).Inc()
	if command == "ADD" && code == 0 {
		m.add.Observe(took.Seconds())
	}
}

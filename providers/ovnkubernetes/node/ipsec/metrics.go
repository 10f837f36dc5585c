package ipsec

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are the agent's metrics.
type metrics struct {
	*agent.Metrics
	starts, renewals prometheus.Counter
}

func newMetrics(version string, s *state) *metrics {
	m := &metrics{Metrics: agent.NewMetrics("ovnkube_ipsec", version)}
	m.Gauge("ready", "1 once the node can agree on keys with others.", func() float64 { return agent.Flag(s.board.View().Status.ready) })
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(s.board.View().Problems.Len()) })
	m.Gauge("peers", "Other nodes.", func() float64 { return float64(s.board.View().Status.report.Peers) })
	m.Gauge("missing_peers", "Other nodes to which packets cannot be encrypted.", func() float64 { return float64(len(s.board.View().Status.report.Missing)) })
	m.Gauge("overhead_bytes", "Maximum overhead of encryption per packet: 46 if the kernel encrypts, 73 if charon does.", func() float64 { return float64(s.ESP.Overhead()) })
	m.Gauge("certificate_expiry_timestamp_seconds", "When the certificate of the node expires; 0 without one.", func() float64 {
		if e := s.board.View().Status.report.Expires; e != nil {
			return float64(e.Unix())
		}
		return 0
	})
	m.starts = m.Counter("charon_starts_total", "How often charon was started.")
	m.renewals = m.Counter("certificate_renewals_total", "Certificates issued for the node.")
	return m
}

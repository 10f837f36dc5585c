package imageserver

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of a server. They have no names of hosts, since unauthenticated requests can contain any name.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	hosts    *prometheus.GaugeVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "host_image_server_requests_total", Help: "Requests for images by form (none: no such image) and HTTP status.",
		}, []string{"form", "status"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "host_image_server_sent_bytes_total", Help: "Bytes of images sent, by form.",
		}, []string{"form"}),
		hosts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "host_image_server_hosts", Help: "Hosts with an image (served) and without one because of their document (refused).",
		}, []string{"state"}),
	}
	m.registry.MustRegister(m.requests, m.bytes, m.hosts)
	return m
}

func (m *metrics) served(extension string, r *response) {
	form := strings.TrimPrefix(extension, ".")
	m.requests.WithLabelValues(form, strconv.Itoa(r.status)).Inc()
	m.bytes.WithLabelValues(form).Add(float64(r.bytes))
}

func (m *metrics) count(hosts []*entry) {
	served, refused := 0, 0
	for _, e := range hosts {
		if len(e.images) > 0 {
			served++
		} else {
			refused++
		}
	}
	m.hosts.WithLabelValues("served").Set(float64(served))
	m.hosts.WithLabelValues("refused").Set(float64(refused))
}

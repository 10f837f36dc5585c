package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the metrics of an agent. The namespace, which is the name of the binary, is the prefix of their names.
type Metrics struct {
	*prometheus.Registry
	namespace string
}

// NewMetrics returns metrics with build_info, which has the version as a label, and those of the Go runtime and the process.
func NewMetrics(namespace, version string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry(), namespace: namespace}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Counter adds a counter.
func (m *Metrics) Counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: m.namespace, Name: name, Help: help})
	m.MustRegister(c)
	return c
}

// Results adds a counter with the label "result".
func (m *Metrics) Results(name, help string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: m.namespace, Name: name, Help: help}, []string{"result"})
	m.MustRegister(c)
	return c
}

// Histogram adds a histogram.
func (m *Metrics) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: m.namespace, Name: name, Help: help, Buckets: buckets})
	m.MustRegister(h)
	return h
}

// Histograms adds a histogram with a label.
func (m *Metrics) Histograms(name, help, label string, buckets []float64) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: m.namespace, Name: name, Help: help, Buckets: buckets}, []string{label})
	m.MustRegister(h)
	return h
}

// Gauge adds a gauge whose value is read on each collection.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: m.namespace, Name: name, Help: help}, value))
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

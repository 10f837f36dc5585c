package preprovisioningimage

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
)

// States of an image.
const (
	stateReady   = "ready"
	stateError   = "error"
	stateForeign = "left"
)

// stateOf returns the state of an image that this program provides.
func stateOf(o preprovisioning.Outcome) string {
	if o.Failure != nil {
		return stateError
	}
	return stateReady
}

// metrics count images by state.
type metrics struct {
	images *prometheus.GaugeVec
	leader prometheus.Gauge

	mu     sync.Mutex
	states map[client.ObjectKey]string
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		images: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "host_image_server_preprovisioning_images", Help: "PreprovisioningImages with an image (ready), without one because of an error (error), and of other controllers (left).",
		}, []string{"state"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{Name: "host_image_server_leader", Help: "1 while this replica writes the status of PreprovisioningImages."}),
		states: map[client.ObjectKey]string{},
	}
	for _, c := range []prometheus.Collector{m.images, m.leader} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// set sets the state of an image; empty removes it.
func (m *metrics) set(key client.ObjectKey, state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[key] = state
	if state == "" {
		delete(m.states, key)
	}
	count := map[string]int{}
	for _, s := range m.states {
		count[s]++
	}
	for _, s := range []string{stateReady, stateError, stateForeign} {
		m.images.WithLabelValues(s).Set(float64(count[s]))
	}
}

func (m *metrics) setLeader(isLeader bool) {
	m.leader.Set(0)
	if isLeader {
		m.leader.Set(1)
	}
}

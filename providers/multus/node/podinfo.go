package node

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// podNetworks is a metric that maps each interface of each pod on the node to its network, for joins with other metrics. Its name and labels are OpenShift's.
// Its value is 0, so that it can be added to other metrics.
type podNetworks struct {
	objects *objects
	about   *prometheus.Desc
}

func newPodNetworks(o *objects) podNetworks {
	return podNetworks{o, prometheus.NewDesc("pod_network_name_info", "The network that an interface of a pod is in; the value is always 0.",
		[]string{"namespace", "pod", "interface", "network_name"}, nil)}
}

// Describe implements prometheus.Collector.
func (p podNetworks) Describe(all chan<- *prometheus.Desc) { all <- p.about }

// Collect implements prometheus.Collector. Invalid statuses, which only this daemon writes, are skipped.
func (p podNetworks) Collect(all chan<- prometheus.Metric) {
	for _, pod := range p.objects.listed() {
		var entries []networkStatus
		if json.Unmarshal([]byte(pod.Annotations[wire.AnnotationStatus]), &entries) != nil {
			continue
		}
		seen := map[string]bool{}
		for _, e := range entries {
			if e.Interface == "" || seen[e.Interface] {
				continue
			}
			seen[e.Interface] = true
			all <- prometheus.MustNewConstMetric(p.about, prometheus.GaugeValue, 0, pod.Namespace, pod.Name, e.Interface, e.Name)
		}
	}
}

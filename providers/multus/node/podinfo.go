package node

import (
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// podNetworks is the metric by which others are related to networks: for each interface of each pod of the node, the network that it is in. Its name and
// labels are OpenShift's, and its value is 0, so that it can be added to what is measured of an interface.
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

// Collect implements prometheus.Collector. Statuses are written by this daemon alone; one that cannot be read has no interfaces.
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

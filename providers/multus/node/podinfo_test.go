package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

func TestEachInterfaceOfAPodHasItsNetworkAsAMetric(t *testing.T) {
	status := func(text string) map[string]string { return map[string]string{wire.AnnotationStatus: text} }
	f := newFixture(t, []*corev1.Pod{
		pod("ns", "two", "u1", status(`[{"name":"flannel","interface":"eth0","default":true},{"name":"ns/lan","interface":"net1"}]`)),
		pod("ns", "twice", "u2", status(`[{"name":"ns/lan","interface":"net1"},{"name":"ns/lan","interface":"net1"},{"name":"ns/lan"}]`)),
		pod("ns", "broken", "u3", status(`{`)), pod("ns", "none", "u4", nil),
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(newPodNetworks(f.objects))
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "pod_network_name_info" {
		t.Fatalf("%v, %v", families, err)
	}
	var have []string
	for _, m := range families[0].Metric {
		var labels []string
		for _, l := range m.Label {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		have = append(have, fmt.Sprint(strings.Join(labels, " "), " ", m.Gauge.GetValue()))
	}
	want := []string{
		"interface=eth0 namespace=ns network_name=flannel pod=two 0", "interface=net1 namespace=ns network_name=ns/lan pod=twice 0", "interface=net1 namespace=ns network_name=ns/lan pod=two 0",
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

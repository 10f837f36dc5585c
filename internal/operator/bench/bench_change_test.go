package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	daemonSets = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
)

// BenchmarkOperator measures an operator in a cluster of three nodes with a network that has been installed.
func BenchmarkOperator(b *testing.B) {
	c := newCluster(b, 3)
	begin := time.Now()
	operator := c.start(b)
	operator.awaitReady(b)
	if err := c.Client.Create(b.Context(), c.newNetwork()); err != nil {
		b.Fatal(err)
	}
	c.settled(b)
	c.quiet(b, begin)
	b.Run("field-changed", func(b *testing.B) { c.fieldChanged(b) })
	b.Run("operand-deleted", func(b *testing.B) { c.restored(b, c.deleteOperand) })
	b.Run("operand-edited", func(b *testing.B) { c.restored(b, c.editOperand) })
	b.Run("idle", func(b *testing.B) { c.idle(b, operator) })
	b.Run("restart", func(b *testing.B) { operator = c.restart(b, operator) })
	b.Run("ended", func(b *testing.B) { operator = c.replaced(b, operator, inOrder) })
	b.Run("crashed", func(b *testing.B) { operator = c.replaced(b, operator, crash) })
	operator.stop()
}

// fieldChanged is from the edit of one field of the network until every object that it makes differ has been
// applied, and until the operator has written down that it has, as watches show it.
func (c *cluster) fieldChanged(b *testing.B) {
	key := client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "proxy-config"}
	config := c.watch(b, configMaps, key)
	agents := c.watch(b, daemonSets, client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"})
	record := c.watch(b, configMaps, client.ObjectKey{Namespace: namespace, Name: "applied-cluster"})
	generation := agents.now.GetGeneration()
	var took, recorded, floor times
	begin := time.Now()
	for b.Loop() {
		for range *samples {
			period := fmt.Sprintf("%ds", 1000+len(took))
			floor = append(floor, c.write(b))
			start := time.Now()
			c.edit(b, func(spec *operatorv1.NetworkSpec) {
				spec.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: period}
			})
			first := config.until(b, "the configuration has the new value", func(o *unstructured.Unstructured) bool { return holds(o, minutes(b, period)) })
			second := agents.until(b, "the DaemonSet is to roll out", func(o *unstructured.Unstructured) bool { return o.GetGeneration() > generation })
			end := record.until(b, "the record has the new value", func(o *unstructured.Unstructured) bool {
				state, _, _ := unstructured.NestedString(o.Object, "data", "state")
				return state == "applied" && holds(o, period)
			})
			took = append(took, max(first.Sub(start), second.Sub(start)))
			recorded = append(recorded, end.Sub(start))
			generation++
			c.settled(b)
		}
	}
	made := c.since(b, begin)
	b.ReportMetric(float64(made.writes)/float64(len(took)), "writes/change")
	b.ReportMetric(float64(made.reads)/float64(len(took)), "reads/change")
	b.ReportMetric(recorded.at(50), "recorded-p50-ms")
	b.ReportMetric(recorded.at(99), "recorded-p99-ms")
	floor.reportFloor(b)
	took.report(b, 150, peer.fieldChanged)
}

// minutes is how Kubernetes' own types write a duration.
func minutes(b *testing.B, duration string) string {
	b.Helper()
	d, err := time.ParseDuration(duration)
	if err != nil {
		b.Fatal(err)
	}
	return d.String()
}

// holds reports whether a text is anywhere in the data of a ConfigMap.
func holds(o *unstructured.Unstructured, text string) bool {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for _, value := range data {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

// edit changes the specification of the network in one request.
func (c *cluster) edit(b *testing.B, change func(*operatorv1.NetworkSpec)) {
	b.Helper()
	before := &operatorv1.Network{}
	before.Name = operatorv1.NetworkName
	after := before.DeepCopy()
	change(&after.Spec)
	if err := c.Client.Patch(b.Context(), after, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
}

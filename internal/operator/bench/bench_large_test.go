package bench

import (
	"testing"
	"time"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
)

// BenchmarkLargeCluster measures an operator in a cluster of thousands of nodes: while none of them answers its
// probes, while all are asked, afterwards, after a restart, and with its pods while one of the DaemonSets rolls.
func BenchmarkLargeCluster(b *testing.B) {
	c := newCluster(b, *nodes)
	c.kubelet.silent.Store(true)
	begin := time.Now()
	operator := c.start(b)
	operator.awaitReady(b)
	if err := c.Client.Create(b.Context(), c.newNetwork()); err != nil {
		b.Fatal(err)
	}
	eventually(b, "nodes are asked", time.Second, func() bool { return c.kubelet.probes.Load() > 0 })
	c.described(b)
	b.Run("probes-unanswered", func(b *testing.B) { c.unanswered(b, operator) })
	b.Run("probes-answered", func(b *testing.B) { c.answered(b, operator) })
	c.settled(b)
	c.quiet(b, begin)
	b.Run("idle", func(b *testing.B) { c.idle(b, operator) })
	b.Run("memory", func(b *testing.B) { resident(b, operator) })
	b.Run("restart", func(b *testing.B) { operator = c.restart(b, operator) })
	b.Run("memory-restarted", func(b *testing.B) { resident(b, operator) })
	b.Run("field-changed", func(b *testing.B) { c.fieldChanged(b) })
	sets := c.seedPods(b)
	b.Run("restart-with-pods", func(b *testing.B) { operator = c.restart(b, operator) })
	b.Run("memory-with-pods", func(b *testing.B) { resident(b, operator) })
	b.Run("condition", func(b *testing.B) { c.conditionChanged(b, sets) })
	b.Run("rolling", func(b *testing.B) { c.rolling(b, operator, sets) })
	operator.stop()
}

// described waits until every node has its object.
func (c *cluster) described(b *testing.B) {
	eventually(b, "nodes have their objects", 5*time.Second, func() bool {
		var list networkoperatorv1.NetworkNodeList
		if err := c.Client.List(b.Context(), &list); err != nil || len(list.Items) < *nodes {
			return false
		}
		for i := range list.Items {
			if len(list.Items[i].Status.Conditions) == 0 {
				return false
			}
		}
		return true
	})
}

// unanswered counts what the operator does for a minute while the probes that it has started stay pending.
func (c *cluster) unanswered(b *testing.B, operator *process) {
	var begin time.Time
	var busy time.Duration
	for b.Loop() {
		time.Sleep(10 * time.Second)
		begin, busy = time.Now(), operator.cpu(b)
		time.Sleep(time.Minute)
	}
	window := time.Since(begin).Minutes()
	made := c.since(b, begin)
	b.ReportMetric(float64(c.kubelet.most.Load()), "probes-at-once")
	b.ReportMetric(float64(made.total())/window, "requests/min")
	b.ReportMetric(float64(made.writes)/window, "writes/min")
	b.ReportMetric(milliseconds(operator.cpu(b)-busy)/window, "cpu-ms/min")
	b.ReportMetric(0, "ns/op")
}

// answered is from the first answer until every node has answered and no probe is left.
func (c *cluster) answered(b *testing.B, operator *process) {
	begin, busy := time.Now(), operator.cpu(b)
	for b.Loop() {
		c.kubelet.respond(b)
		for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if c.kubelet.answers.Load() >= int64(*nodes) && c.kubelet.probes.Load() == 0 {
				break
			}
			if time.Now().After(deadline) {
				b.Logf("only %d nodes have answered in a quarter of an hour", c.kubelet.answers.Load())
				break
			}
		}
	}
	made := c.since(b, begin)
	b.ReportMetric(time.Since(begin).Seconds(), "s")
	b.ReportMetric(float64(c.kubelet.most.Load()), "probes-at-once")
	b.ReportMetric(float64(made.total())/float64(*nodes), "requests/node")
	b.ReportMetric(float64(made.writes)/float64(*nodes), "writes/node")
	b.ReportMetric((operator.cpu(b) - busy).Seconds(), "cpu-s")
	b.ReportMetric(operator.memory(b).most, "peak-MB")
	b.ReportMetric(0, "ns/op")
}

// resident reports the memory of an operator that has had nothing to do for a while.
func resident(b *testing.B, operator *process) {
	for b.Loop() {
		time.Sleep(time.Minute)
	}
	m := operator.memory(b)
	b.ReportMetric(m.now, "rss-MB")
	b.ReportMetric(m.own, "rss-without-program-MB")
	b.ReportMetric(m.most, "peak-MB")
	b.ReportMetric(float64(*nodes), "nodes")
	compare(b, "MB", 60, peer.memory)
}

package bench

import (
	"testing"
	"time"
)

// firstReads is the time after which an operator has read what it reads once, two minutes after a network was applied: addresses that pods of further networks
// may have left.
const firstReads = 3 * time.Minute

// idle counts the requests of an operator that has nothing to do.
func (c *cluster) idle(b *testing.B, operator *process) {
	time.Sleep(firstReads)
	var begin time.Time
	var busy time.Duration
	for b.Loop() {
		begin, busy = time.Now(), operator.cpu(b)
		time.Sleep(*idle)
	}
	window := time.Since(begin).Minutes()
	made := c.since(b, begin)
	made.show(b)
	perMinute := func(n int) float64 { return float64(n) / window }
	b.ReportMetric(window, "minutes")
	b.ReportMetric(perMinute(made.reads), "reads/min")
	b.ReportMetric(perMinute(made.writes), "writes/min")
	b.ReportMetric(perMinute(made.watches), "watches/min")
	b.ReportMetric(perMinute(made.lease), "lease/min")
	b.ReportMetric(milliseconds(operator.cpu(b)-busy)/window, "cpu-ms/min")
	b.ReportMetric(operator.memory(b).now, "rss-MB")
	b.ReportMetric(peer.idleWrites, "peer-writes/min")
	compare(b, "requests/min", 0, peer.idleRequests)
}

// restart counts the requests of an operator that starts where all is as it should be.
func (c *cluster) restart(b *testing.B, operator *process) *process {
	var begin, ready time.Time
	var made requests
	for b.Loop() {
		operator.stop()
		begin = time.Now()
		operator = c.start(b)
		ready = operator.awaitReady(b)
		made = c.quiet(b, begin)
	}
	made.show(b)
	b.ReportMetric(float64(made.total()), "requests")
	b.ReportMetric(float64(made.writes), "writes")
	b.ReportMetric(float64(made.watches), "watches")
	b.ReportMetric(milliseconds(ready.Sub(begin)), "ready-ms")
	b.ReportMetric(milliseconds(made.last.Sub(begin)), "steady-ms")
	compare(b, "requests", 30, peer.restarts)
	return operator
}

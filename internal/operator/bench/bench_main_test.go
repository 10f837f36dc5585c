package bench

import (
	"flag"
	"slices"
	"testing"
	"time"
)

// peer are the figures of the operator that OpenShift ships, measured on the same kind of machine: two cores, a
// real kube-apiserver and etcd, no kubelets. Times are in milliseconds, memory is in megabytes.
var peer = struct {
	fieldChanged, restored, render     float64
	crashed, ended                     float64
	idleRequests, idleWrites, restarts float64
	memory, rolling, condition         float64
}{
	fieldChanged: 28_000,
	restored:     210_000, // the next of its resyncs, which are three minutes apart, and its length
	render:       1_000,   // 600 to 1300, with the reads that it makes for it
	crashed:      165_000, // 151 to 178 seconds from the start of the next process to the lease
	ended:        30,      // from the first try to get the lease
	idleRequests: 60,      // a minute
	idleWrites:   41,
	restarts:     442,
	memory:       387, // 344 to 387
	rolling:      1078,
	condition:    6_600, // the median of 4.2 to 11.1 s
}

var (
	samples = flag.Int("samples", 50, "how many changes are made for each distribution of times")
	idle    = flag.Duration("idle", time.Minute, "how long an idle operator is watched")
	nodes   = flag.Int("nodes", 5000, "how many nodes the large cluster has")
	program = flag.String("program", "", "the operator to measure; without one, it is built")
	pods    = flag.Int("pods", 50_000, "how many pods the large cluster has, those of the network's DaemonSets included")
)

// times are how long an operation took, repeatedly.
type times []time.Duration

// report reports the median, the 99th percentile and the shortest in milliseconds.
func (t times) report(b *testing.B, goal, peer float64) {
	b.Helper()
	b.ReportMetric(t.at(50), "p50-ms")
	b.ReportMetric(t.at(99), "p99-ms")
	b.ReportMetric(t.at(0), "min-ms")
	compare(b, "ms", goal, peer)
}

// at returns a percentile in milliseconds. Of less than a hundred times, the 99th is the longest.
func (t times) at(percent int) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return milliseconds(sorted[max(0, (len(t)*percent+99)/100-1)])
}

// reportFloor reports what one write took the API server meanwhile, which shows how busy the machine was.
func (t times) reportFloor(b *testing.B) {
	b.Helper()
	b.ReportMetric(t.at(50), "one-write-p50-ms")
	b.ReportMetric(t.at(99), "one-write-p99-ms")
}

// compare reports the goal and the peer's figure. A goal of 0 is none.
func compare(b *testing.B, unit string, goal, peer float64) {
	b.Helper()
	// The time of one iteration is meaningless: it contains many operations, and waiting between them.
	b.ReportMetric(0, "ns/op")
	if goal > 0 {
		b.ReportMetric(goal, "goal-"+unit)
	}
	b.ReportMetric(peer, "peer-"+unit)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

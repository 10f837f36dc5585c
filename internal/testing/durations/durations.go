// Package durations has what benchmarks report of durations.
package durations

import (
	"slices"
	"testing"
	"time"
)

// Median returns the median of durations, which it sorts.
func Median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// Report reports the median and the 99th percentile of durations as NAME-p50-ms and NAME-p99-ms. It sorts them.
func Report(b *testing.B, name string, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e6, name+"-p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, name+"-p99-ms")
}

package residency

import "runtime/metrics"

// beside is what a program occupies beside its heap.
const beside = 8 << 20

// Limit returns the limit of memory to give the garbage collector while live bytes of the heap are in use: the lowest as long as half as
// much again fits below it, and never more than the highest.
func Limit(live, lowest, highest int64) int64 {
	return min(max(lowest, live+live/2+beside), highest)
}

// Live returns how much of the heap was in use at the end of the last collection, 0 before the first.
func Live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

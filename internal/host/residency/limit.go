package residency

import "runtime/metrics"

// nonHeap is the memory of a process outside of its heap, in bytes.
const nonHeap = 8 << 20

// Limit returns the memory limit for the garbage collector while live bytes of the heap are in use: 1.5 times live plus the memory outside of the heap,
// but at least lowest and at most highest.
func Limit(live, lowest, highest int64) int64 {
	return min(max(lowest, live+live/2+nonHeap), highest)
}

// Live returns the bytes of the heap that were in use after the last garbage collection; 0 before the first.
func Live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

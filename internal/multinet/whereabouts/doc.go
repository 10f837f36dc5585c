// Package whereabouts decides which addresses the interfaces of pods get from ranges that all nodes share. It reads the ipam
// configuration of that type strictly, and allocates over the content of the objects in which whereabouts keeps addresses, so that
// clusters with such objects keep them. It is pure: package store reads and writes the objects.
package whereabouts

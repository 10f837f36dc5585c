// Package whereabouts assigns addresses to interfaces of pods from ranges that all nodes share. It parses the ipam configuration of the type whereabouts
// strictly, and uses the API objects of whereabouts, so that clusters keep their existing allocations. It is pure: package store reads and writes the
// objects.
package whereabouts

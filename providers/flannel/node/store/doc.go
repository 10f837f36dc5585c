// Package store stores flannel's leases, the reservations and the agents' reports in etcd.
//
// It acquires leases itself, in the keys and values of flannel's own etcd subnet manager. That manager does not support reservations, overwrites a lease
// without checking its holder when it renews, exits the process when its lease is lost, and never recovers when the revision that it watches from has been
// compacted.
//
// Plan is pure and decides what to write. Store reads, watches and commits.
package store

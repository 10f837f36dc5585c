// Package store keeps flannel's leases, the reservations and the agents' reports in etcd.
//
// It takes leases itself instead of leaving that to flannel's own etcd subnet manager, in the same keys and
// values, because that manager knows no reservations, overwrites a lease without looking whose it is when it
// renews, ends the program when its lease is gone, and never recovers when the place where it watches has been
// compacted.
//
// What to write is decided by Plan, which is pure; Store reads, watches and commits.
package store

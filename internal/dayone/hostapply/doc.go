// Package hostapply applies a document to a host's network, or restores the previous state.
//
// Run waits for the host's name and selects its document. If the document is not already applied, it takes a snapshot, applies, verifies, and commits or
// rolls back. A journal on disk always has the current stage, so that after a crash or power failure at any point the next start ends in the old or the new
// state. Only a Backend accesses the kernel and daemons.
package hostapply

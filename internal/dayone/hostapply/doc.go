// Package hostapply brings a host's network to what its document wants, or leaves it as it was.
//
// Run is one pass: wait for the host's name, select its document, skip it if the same one was applied and is
// live, otherwise take a snapshot, apply, verify, and commit or roll back. A journal on disk says at any instant how far
// the pass is, so that a process killed, or a machine that lost power, at any point ends in the old or the new
// state at the next start. Kernel and daemons are reached only through a Backend.
package hostapply

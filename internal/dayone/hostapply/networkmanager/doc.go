// Package networkmanager is the backend for hosts that run NetworkManager. It takes the keyfiles that package nmconn
// makes of a document, stages them in NetworkManager's directory below /run, activates them, and moves them to /etc when
// the engine commits: what was not committed is forgotten with a reset.
//
// From Snapshot to Commit a checkpoint of NetworkManager is armed, so that the host goes back by itself when this
// program dies and no one starts it again. A checkpoint restores only what was active, and dies with NetworkManager;
// therefore the snapshot holds all keyfiles too, and Restore does not need the checkpoint.
//
// Where NetworkManager has no plug-in for Open vSwitch, a Switch makes bridges and ports in Open vSwitch's database, and
// NetworkManager only gives the internal ports their addresses. The checkpoint does not cover the database: Restore does.
package networkmanager

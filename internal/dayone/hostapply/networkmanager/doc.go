// Package networkmanager is the backend for hosts with NetworkManager. It stages the keyfiles that package nmconn generates in NetworkManager's directory
// below /run, activates them, and moves them to /etc when the engine commits: a reset reverts uncommitted changes.
//
// From Snapshot to Commit there is a checkpoint of NetworkManager, so that the host rolls back automatically if this process ends and is not restarted. A
// checkpoint restores only active profiles, and ends with NetworkManager; therefore the snapshot also has all keyfiles, and Restore does not depend on the
// checkpoint.
//
// If NetworkManager has no plug-in for Open vSwitch, the backend creates bridges and ports in Open vSwitch's database, and NetworkManager only configures
// the addresses of internal ports. The checkpoint does not include the database, but Restore does.
package networkmanager

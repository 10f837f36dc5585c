package hostapply

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Backend reads and changes the network of this host. The engine calls it from one goroutine at a time. Every
// method may be called again after the process, or the machine, died in the middle of it: a backend keeps nothing
// in memory that Restore or Commit need.
type Backend interface {
	// Live reads the network as it is now, with whatever the backend knows of the way addresses are got.
	Live(ctx context.Context) (livestate.State, error)

	// Snapshot returns all that Restore needs to bring back the network as it is now. The engine writes it to disk before it calls
	// Apply. It changes nothing that outlives the process, but may arm a dead man's switch (a checkpoint) that
	// undoes the change by itself when change.Deadline passes.
	Snapshot(ctx context.Context, change Change) (Snapshot, error)

	// Apply makes the network what change.Document wants, so far that only waiting is left (for a lease, for duplicate address
	// detection). It may leave the network half changed when it returns an error: the engine then calls Restore. It must be idempotent:
	// applying what is live already disturbs nothing.
	Apply(ctx context.Context, change Change) error

	// Commit makes what was applied survive a restart (not if change.Volatile) and disarms the dead man's switch. The
	// network does not change. Called again by a later process, it finishes what the first one began.
	Commit(ctx context.Context, change Change, snapshot Snapshot) error

	// Restore brings the network back to the snapshot, whatever lies between: nothing done, half of it, all of it, or a reboot
	// since. What the snapshot has not, and the document made, is removed. It works with what the
	// snapshot holds, for the process that took it may be dead.
	Restore(ctx context.Context, change Change, snapshot Snapshot) error
}

// Snapshot is what a backend needs to return to an earlier state, as JSON of its own shape. Only the backend that
// made it can read it.
type Snapshot = json.RawMessage

// Change is what the engine asks of a backend.
type Change struct {
	// Document is what is wanted, captures and per-host values resolved.
	Document *nmstate.Document
	// Volatile changes are recreated at each boot: nothing of them is kept on disk past a reset. Automatic mode is.
	Volatile bool
	// Deadline is when a dead man's switch may fire at the earliest: the engine has committed or restored by then.
	Deadline time.Time
}

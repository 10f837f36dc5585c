package hostapply

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Backend reads and changes the network of this host. The engine calls it from one goroutine at a time. All methods may be called again after a crash of the
// process or the machine: Restore and Commit must not depend on state in memory.
type Backend interface {
	// Live reads the current network, including how addresses are configured, as far as the backend can detect it.
	Live(ctx context.Context) (livestate.State, error)

	// Snapshot returns all data that Restore needs to restore the current network. The engine writes it to disk before it calls Apply. Snapshot makes no
	// permanent changes, but may create a checkpoint that undoes the change automatically when change.Deadline passes.
	Snapshot(ctx context.Context, change Change) (Snapshot, error)

	// Apply applies change.Document. It need not wait for leases and duplicate address detection. If it returns an error, the network may be
	// partially changed; the engine then calls Restore. Apply must be idempotent, and must not interrupt the network if there is no change.
	Apply(ctx context.Context, change Change) error

	// Commit makes the change persistent, unless change.Volatile is true, and destroys the checkpoint. It does not change the network. A later
	// process may repeat an interrupted Commit.
	Commit(ctx context.Context, change Change, snapshot Snapshot) error

	// Restore restores the network of the snapshot after a change that was not, partially or completely applied, also after a reboot. It removes
	// objects of the document that are not in the snapshot. It uses only data of the snapshot, which may come from an earlier process.
	Restore(ctx context.Context, change Change, snapshot Snapshot) error
}

// Snapshot is the data of Restore as JSON in a format of the backend.
type Snapshot = json.RawMessage

// Change is a change that the engine requests from a backend.
type Change struct {
	// Document is the desired state, with captures and per-host values resolved.
	Document *nmstate.Document
	// Volatile is true for a change that is applied again at each boot and must not be persistent, as in automatic mode.
	Volatile bool
	// Deadline is the earliest time at which a checkpoint may be rolled back; the engine commits or restores before that.
	Deadline time.Time
}

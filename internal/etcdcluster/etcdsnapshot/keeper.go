package etcdsnapshot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Keeper takes periodic snapshots of an etcd on a node with a member.
type Keeper struct {
	// Data is the parent of the members' data directories.
	Data string
	// Node is the name of the node.
	Node string
	// Members is the file with the record of members. It is read for each snapshot.
	Members string
	// Every is the interval of snapshots, Keep their maximum number.
	Every time.Duration
	Keep  int
	// Connect opens a connection to the member of the node, with its current certificate. The second result closes it.
	Connect func() (Source, func(), error)
	Log     *slog.Logger
}

// retry is the interval of steps.
const retry = time.Minute

// Run takes snapshots until the context ends. It logs failures and retries; after two periods without a snapshot, it returns the error.
func (k Keeper) Run(ctx context.Context) error {
	started := time.Now()
	for {
		now := time.Now()
		if err := k.Step(ctx, now); err != nil && ctx.Err() == nil {
			k.Log.Error("cannot take snapshot of etcd", "error", err)
			last, listErr := k.last()
			if listErr != nil || now.Sub(later(last, started)) > 2*k.Every {
				return fmt.Errorf("no snapshot of etcd for %s: %w", 2*k.Every, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}

// Step takes a snapshot if one is due, prunes old ones, and removes the directories of former members.
func (k Keeper) Step(ctx context.Context, now time.Time) error {
	if err := k.clean(now); err != nil {
		return err
	}
	last, err := k.last()
	if err != nil || now.Sub(last) < k.Every && !last.After(now) {
		return err
	}
	source, done, err := k.Connect()
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer done()
	path, err := Take(ctx, source, k.directory(), now)
	if err != nil {
		return err
	}
	k.Log.Info("took a snapshot of etcd", "file", path)
	return Prune(k.directory(), k.Keep)
}

func (k Keeper) directory() string { return filepath.Join(k.Data, Directory) }

// clean removes the directories of former members.
func (k Keeper) clean(now time.Time) error {
	text, err := os.ReadFile(k.Members)
	if err != nil {
		return fmt.Errorf("read the record of etcd's members: %w", err)
	}
	m, err := etcdcluster.DecodeMembership(string(text))
	if err != nil {
		return err
	}
	removed, err := RemoveFormer(k.Data, k.Node, m, now)
	for _, name := range removed {
		k.Log.Info("removed the directory of a former member of etcd", "member", name)
	}
	return err
}

// last returns the time of the last snapshot; the zero time if there is none.
func (k Keeper) last() (time.Time, error) {
	names, err := List(k.directory())
	if err != nil || len(names) == 0 {
		return time.Time{}, err
	}
	at, _ := takenAt(names[len(names)-1])
	return at, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

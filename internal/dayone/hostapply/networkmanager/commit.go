package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Commit implements hostapply.Backend. It destroys the checkpoint first, which could otherwise be rolled back during the commit. It removes other profiles of
// the same interfaces, which could otherwise be activated at the next boot.
func (b *Backend) Commit(ctx context.Context, change hostapply.Change, data hostapply.Snapshot) error {
	s, err := readSnapshot(data)
	if err != nil {
		return err
	}
	p, err := b.plan(ctx, change)
	if err != nil {
		return err
	}
	if err := b.disarm(ctx, s); err != nil {
		return err
	}
	if !change.Volatile {
		if err := b.persist(ctx, p); err != nil {
			return err
		}
	}
	// This only has an effect if the checkpoint was rolled back, or NetworkManager restarted, before a later process repeated the commit.
	if change.Volatile {
		if err := b.stage(ctx, p.early()); err != nil {
			return err
		}
	}
	return b.bringUp(ctx, change, p)
}

func (b *Backend) disarm(ctx context.Context, s snapshot) error {
	armed, err := b.Bus.HasCheckpoint(ctx, s.Checkpoint)
	if err != nil || !armed {
		return err
	}
	b.Log.Debug("disarm checkpoint")
	return b.Bus.DestroyCheckpoint(ctx, s.Checkpoint)
}

// persist writes the profiles to disk, and then removes the staged and replaced ones. Late profiles stay in memory, and are removed from disk if an earlier
// document had them there.
func (b *Backend) persist(ctx context.Context, p plan) error {
	obsolete, err := b.obsolete(ctx, p)
	if err != nil {
		return err
	}
	b.Log.Debug("keep profiles")
	for _, q := range p.early() {
		if err := writeKeyfile(b.Etc, q.file, []byte(q.content)); err != nil {
			return fmt.Errorf("keep a profile: %w", err)
		}
	}
	for _, q := range p.profiles {
		if err := b.moveLate(q, p.late(q)); err != nil {
			return fmt.Errorf("remove a staged profile: %w", err)
		}
	}
	for _, path := range obsolete {
		b.Log.Info("removing a profile that the document replaces", "file", path)
		if err := durable.Remove(path); err != nil {
			return fmt.Errorf("remove a replaced profile: %w", err)
		}
	}
	return b.Bus.Reload(ctx)
}

// moveLate removes the staged copy of a profile on disk. A late profile is moved from disk to memory instead.
func (b *Backend) moveLate(q profile, late bool) error {
	if !late {
		return durable.Remove(filepath.Join(b.Run, q.file))
	}
	if _, err := os.Stat(filepath.Join(b.Etc, q.file)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := writeKeyfile(b.Run, q.file, []byte(q.content)); err != nil {
		return err
	}
	return durable.Remove(filepath.Join(b.Etc, q.file))
}

// obsolete returns the keyfiles of other profiles for the document's interfaces.
func (b *Backend) obsolete(ctx context.Context, p plan) ([]string, error) {
	known, err := b.Bus.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	devices := slices.Clone(p.absent)
	for _, q := range p.profiles {
		own[q.uuid] = true
		devices = append(devices, q.device)
	}
	var files []string
	for _, k := range known {
		dir := filepath.Dir(k.File)
		if !own[k.UUID] && k.Interface != "" && slices.Contains(devices, k.Interface) && (dir == b.Etc || dir == b.Run) {
			files = append(files, k.File)
		}
	}
	return files, nil
}

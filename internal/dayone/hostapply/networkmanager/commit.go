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
)

// Commit implements hostapply.Backend. The checkpoint is disarmed first, or it might fire in the middle. Profiles of the
// same interfaces that are not the document's are removed, or they might win at the next boot.
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
		if err := b.keep(ctx, p); err != nil {
			return err
		}
	}
	// Nothing is left to do, unless the checkpoint fired, or NetworkManager restarted, before a later process came to commit.
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

// keep writes the profiles to disk, flushes them, and then removes the staged ones and those they replace. Late profiles stay
// where they are, and go from the disk if an earlier document had them there.
func (b *Backend) keep(ctx context.Context, p plan) error {
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
	if err := syncDirectory(b.Etc); err != nil {
		return fmt.Errorf("keep profiles: %w", err)
	}
	for _, q := range p.profiles {
		if err := b.tidy(q, p.late(q)); err != nil {
			return fmt.Errorf("remove a staged profile: %w", err)
		}
	}
	for _, path := range obsolete {
		b.Log.Info("removing a profile that the document replaces", "file", path)
		if err := removeKeyfile(filepath.Dir(path), filepath.Base(path)); err != nil {
			return fmt.Errorf("remove a replaced profile: %w", err)
		}
	}
	if err := syncDirectory(b.Etc); err != nil {
		return fmt.Errorf("keep profiles: %w", err)
	}
	return b.Bus.Reload(ctx)
}

// tidy leaves a profile in one of the two directories. One on disk is moved to memory where it is late.
func (b *Backend) tidy(q profile, late bool) error {
	if !late {
		return removeKeyfile(b.Run, q.file)
	}
	if _, err := os.Stat(filepath.Join(b.Etc, q.file)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := writeKeyfile(b.Run, q.file, []byte(q.content)); err != nil {
		return err
	}
	return removeKeyfile(b.Etc, q.file)
}

// obsolete returns the keyfiles of other profiles for the document's interfaces.
func (b *Backend) obsolete(ctx context.Context, p plan) ([]string, error) {
	known, err := b.Bus.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	devices := slices.Clone(p.absent)
	for _, q := range p.profiles {
		ours[q.uuid] = true
		devices = append(devices, q.device)
	}
	var files []string
	for _, k := range known {
		dir := filepath.Dir(k.File)
		if !ours[k.UUID] && k.Interface != "" && slices.Contains(devices, k.Interface) && (dir == b.Etc || dir == b.Run) {
			files = append(files, k.File)
		}
	}
	return files, nil
}

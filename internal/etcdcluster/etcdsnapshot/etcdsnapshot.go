// Package etcdsnapshot takes snapshots of an etcd on the disks of nodes with a member (Keeper), and removes data of former members there. Restore creates
// members from a snapshot with etcd's own library.
//
// It never changes the directory of a running member.
package etcdsnapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

const (
	// Directory is the directory of snapshots, in the parent of the members' data directories.
	Directory = "snapshots"

	prefix, suffix = "snapshot-", ".db"
	layout         = "20060102T150405Z"
	// partSuffix is the suffix of an unfinished snapshot.
	partSuffix = ".part"
	// pageSize is a divisor of the size of every database, in bytes.
	pageSize = 512
)

// Source is a connection to an etcd.
type Source interface {
	// Snapshot returns a snapshot of the database, followed by its SHA-256 checksum.
	Snapshot(ctx context.Context) (io.ReadCloser, error)
}

// Take writes a snapshot to a directory, which it creates, and returns its path. Only the owner can read them. It removes a snapshot with a wrong checksum
// and returns an error.
func Take(ctx context.Context, from Source, directory string, now time.Time) (path string, err error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", fmt.Errorf("create directory of snapshots: %w", err)
	}
	stream, err := from.Snapshot(ctx)
	if err != nil {
		return "", fmt.Errorf("take snapshot: %w", err)
	}
	defer stream.Close()
	path = filepath.Join(directory, prefix+now.UTC().Format(layout)+suffix)
	unfinished := path + partSuffix
	if err = durable.Copy(unfinished, stream, 0o600); err == nil {
		err = Verify(unfinished)
	}
	if err == nil {
		err = durable.Rename(unfinished, path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("write snapshot: %w", err), ignoreMissing(os.Remove(unfinished)))
	}
	return path, nil
}

// Verify returns an error unless a file is a complete snapshot with a correct checksum.
func Verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	size := info.Size() - sha256.Size
	if size <= 0 || size%pageSize != 0 {
		return fmt.Errorf("snapshot %s has %d bytes, which is not a database with its checksum; it is incomplete", path, info.Size())
	}
	h := sha256.New()
	if _, err := io.CopyN(h, f, size); err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	want, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	if !bytes.Equal(h.Sum(nil), want) {
		return fmt.Errorf("snapshot %s does not have the checksum at its end; it is damaged", path)
	}
	return nil
}

// List returns the names of the snapshots in a directory, the oldest first; none if the directory does not exist. It ignores other files.
func List(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if ignoreMissing(err) != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := takenAt(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // by time, since the time in a name has a fixed width
	return names, nil
}

// takenAt returns the time in the name of a snapshot; ok is false for other names.
func takenAt(name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, prefix)
	text, okSuffix := strings.CutSuffix(text, suffix)
	at, err := time.Parse(layout, text)
	return at, ok && okSuffix && err == nil
}

// Prune removes unfinished snapshots, and all but the newest keep snapshots. It keeps at least one.
func Prune(directory string, keep int) error {
	names, err := List(directory)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names[:max(0, len(names)-max(keep, 1))] {
		errs = append(errs, ignoreMissing(os.Remove(filepath.Join(directory, name))))
	}
	unfinished, err := filepath.Glob(filepath.Join(directory, prefix+"*"+partSuffix))
	errs = append(errs, err)
	for _, path := range unfinished {
		errs = append(errs, ignoreMissing(os.Remove(path)))
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

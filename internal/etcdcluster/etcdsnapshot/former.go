package etcdsnapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// FormerAge is the time since the last write to the directory of a former member after which it is removed. Until then, an administrator may need it.
const FormerAge = 7 * 24 * time.Hour

// token matches the part of a directory's name after the name of the node. Directories that Restore has renamed also have a time.
var token = regexp.MustCompile(`^[0-9a-f]{8}(\.replaced-[0-9]{8}T[0-9]{6}Z)?$`)

// RemoveFormer removes the directories of a node's members that are no longer in the record, and returns their names. It keeps directories that an etcd
// uses, that were written within FormerAge, or that do not belong to a member of this node. It continues after errors, and joins them.
func RemoveFormer(data, node string, m etcdcluster.Membership, now time.Time) (removed []string, err error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, fmt.Errorf("list directories of members: %w", err)
	}
	current := map[string]bool{}
	for _, member := range m.Members {
		current[member.Name] = true
	}
	var errs []error
	for _, e := range entries {
		text, ofNode := strings.CutPrefix(e.Name(), node+"-")
		if !e.IsDir() || !ofNode || !token.MatchString(text) || current[e.Name()] {
			continue
		}
		path := filepath.Join(data, e.Name())
		old, err := unused(path, now)
		if err == nil && old {
			if err = os.RemoveAll(path); err == nil {
				removed = append(removed, e.Name())
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the directory of the former member %s: %w", e.Name(), err))
		}
	}
	return removed, errors.Join(errs...)
}

// unused reports whether a directory belongs to an etcd that does not run, and nothing in it was written within FormerAge.
func unused(path string, now time.Time) (bool, error) {
	if _, err := os.Stat(databaseOf(path)); err != nil {
		return false, ignoreMissing(err)
	}
	release, used, err := lock(path)
	if err != nil || used {
		return false, err
	}
	defer release()
	old := true
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		old = old && err == nil && now.Sub(info.ModTime()) >= FormerAge
		return err
	})
	return old, err
}

func databaseOf(member string) string { return filepath.Join(member, "member", "snap", "db") }

// lock locks the database of a member as etcd does; used is true if an etcd has the lock. Without a database, it does nothing.
func lock(member string) (release func(), used bool, err error) {
	database, err := os.Open(databaseOf(member))
	if err != nil {
		return func() {}, false, ignoreMissing(err)
	}
	release = func() { _ = database.Close() }
	err = unix.Flock(int(database.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return release, false, nil
	}
	release()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return func() {}, true, nil
	}
	return func() {}, false, fmt.Errorf("lock the database of %s: %w", member, err)
}

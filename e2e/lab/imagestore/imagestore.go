// Package imagestore prepares the image data of a container runtime once for all
// nodes with the same images. Otherwise, importing the images into every node takes
// most of the time of the bring-up of a lab.
//
// A store is the root directory of a containerd that has imported the images and
// has been stopped. New disks get a copy of it. The files of layers are hard
// links: a runtime never writes to them, containers write to layers of their own.
package imagestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
	"github.com/cluster-network-operator/cno/e2e/lab/image"
)

const (
	// keyLength is the length of the prefix of a hash that distinguishes the stores of a cache.
	keyLength = 12
	// kept is the number of stores in the cache; the least recently used are removed.
	kept = 3
	// rootName is the runtime's root directory in a store.
	rootName = "root"
	// namespace is the containerd namespace of the images of pods.
	namespace = "k8s.io"
	// stopTimeout is the time limit for the end of a runtime after SIGTERM.
	stopTimeout = time.Minute
)

// Stores are the stores in a cache.
type Stores struct {
	// Cache is the build cache.
	Cache string
	// Containerd and Ctr are the paths of the runtime and its client.
	Containerd, Ctr string
	// Run is a directory for sockets, whose paths are limited to 107 bytes, as
	// those in a cache may not be.
	Run string
	// Out receives one line for each store that has to be created.
	Out io.Writer
}

// Fill copies the images of archives to an empty directory: the runtime's root on
// the disk of a node that is off.
func (s Stores) Fill(ctx context.Context, archives []image.Archive, root string) error {
	unlock, err := filelock.Acquire(ctx, filepath.Join(s.Cache, "locks", "stores"))
	if err != nil {
		return err
	}
	defer unlock()
	store, err := s.ensure(ctx, archives)
	if err != nil {
		return fmt.Errorf("prepare the images of nodes: %w", err)
	}
	if err := clone(ctx, filepath.Join(store, rootName), root); err != nil {
		return fmt.Errorf("copy the prepared images to %s: %w", root, err)
	}
	return s.prune()
}

// ensure returns the store of archives, and creates it if it is missing.
func (s Stores) ensure(ctx context.Context, archives []image.Archive) (string, error) {
	key, err := s.key(archives)
	if err != nil {
		return "", err
	}
	store := filepath.Join(s.dir(), key)
	if _, err := os.Stat(store); err == nil {
		now := time.Now()
		return store, os.Chtimes(store, now, now)
	}
	fmt.Fprintf(s.Out, "preparing %d images for the disks of nodes\n", len(archives))
	// Replace the incomplete store of a killed command.
	half := store + ".new"
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	if err := os.MkdirAll(half, 0o700); err != nil {
		return "", err
	}
	if err := s.importAll(ctx, archives, filepath.Join(half, rootName)); err != nil {
		return "", errors.Join(err, os.RemoveAll(half))
	}
	return store, os.Rename(half, store)
}

func (s Stores) dir() string { return filepath.Join(s.Cache, "stores") }

// key returns a hash of the images and of the build of the runtime, whose
// path in the cache has its version.
func (s Stores) key(archives []image.Archive) (string, error) {
	program, err := filepath.EvalSymlinks(s.Containerd)
	if err != nil {
		return "", err
	}
	lines := []string{program}
	for _, a := range archives {
		lines = append(lines, fmt.Sprint(a.Digest, a.References))
	}
	slices.Sort(lines[1:])
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:keyLength], nil
}

// importAll runs a containerd on a root directory until all archives are imported.
func (s Stores) importAll(ctx context.Context, archives []image.Archive, root string) error {
	state, err := os.MkdirTemp(s.Run, "store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	settings, socket := config.ContainerdForImports(root, state)
	file := filepath.Join(state, "config.toml")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	var output bytes.Buffer
	daemon := exec.Command(s.Containerd, "--config="+file)
	daemon.Stdout, daemon.Stderr = &output, &output
	// It ends with the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Its mounts of layers are private and end with the process.
	daemon.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := daemon.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	failed := s.imports(ctx, archives, socket, ended)
	_ = daemon.Process.Signal(syscall.SIGTERM)
	select {
	case err = <-ended:
	case <-time.After(stopTimeout):
		_ = daemon.Process.Kill()
		err = errors.Join(<-ended, fmt.Errorf("containerd does not end within %s", stopTimeout))
	}
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("%w; containerd printed:\n%s", err, output.Bytes())
	}
	return nil
}

func (s Stores) imports(ctx context.Context, archives []image.Archive, socket string, ended <-chan error) error {
	if err := s.await(ctx, socket, ended); err != nil {
		return err
	}
	for _, a := range archives {
		if err := s.ctr(ctx, socket, "--namespace="+namespace, "images", "import", a.Path); err != nil {
			return fmt.Errorf("import %s: %w", a.Path, err)
		}
	}
	return nil
}

// await returns when the containerd responds, or when it has ended.
func (s Stores) await(ctx context.Context, socket string, ended <-chan error) error {
	for {
		err := s.ctr(ctx, socket, "version")
		if err == nil {
			return nil
		}
		if len(ended) > 0 || ctx.Err() != nil {
			return fmt.Errorf("start containerd: %w", errors.Join(err, ctx.Err()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s Stores) ctr(ctx context.Context, socket string, args ...string) error {
	out, err := exec.CommandContext(ctx, s.Ctr, append([]string{"--address=" + socket}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// clone copies a root directory to an empty directory, atomically, so that it stays
// empty after a crash. It copies databases, and hard-links all other files if both
// directories are on one file system.
func clone(ctx context.Context, from, to string) error {
	half := to + ".new"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	link, err := sameFileSystem(from, filepath.Dir(to))
	if err != nil {
		return err
	}
	args := []string{"--archive", from, half}
	if link {
		args = append(args, "--link")
	}
	if out, err := exec.CommandContext(ctx, "cp", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	if link {
		if err := separateDatabases(from, half); err != nil {
			return err
		}
	}
	if err := os.Remove(to); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// separateDatabases replaces the hard links of databases in a clone, which the
// runtime writes to, with copies.
func separateDatabases(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// The layers of images and the blobs are large trees without databases.
		if d.IsDir() && (d.Name() == "snapshots" || d.Name() == "blobs") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".db" {
			return nil
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return separate(path, filepath.Join(to, rest))
	})
}

// separate replaces a hard link with a copy of the file.
func separate(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

func sameFileSystem(a, b string) (bool, error) {
	var stat [2]syscall.Stat_t
	for i, path := range []string{a, b} {
		if err := syscall.Stat(path, &stat[i]); err != nil {
			return false, fmt.Errorf("stat %s: %w", path, err)
		}
	}
	return stat[0].Dev == stat[1].Dev, nil
}

// prune removes all but the most recently used stores.
func (s Stores) prune() error {
	entries, err := os.ReadDir(s.dir())
	if err != nil {
		return err
	}
	type used struct {
		path string
		at   time.Time
	}
	var stores []used
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		stores = append(stores, used{filepath.Join(s.dir(), e.Name()), info.ModTime()})
	}
	slices.SortFunc(stores, func(a, b used) int { return b.at.Compare(a.at) })
	for _, u := range stores[min(kept, len(stores)):] {
		if err := os.RemoveAll(u.path); err != nil {
			return fmt.Errorf("remove an old store: %w", err)
		}
	}
	return nil
}

// Package imagestore prepares, once for all nodes that get the same images, what
// a container runtime keeps of images on the disk of its node. Importing the
// images into every node is most of what bringing up a lab costs otherwise.
//
// A store is the root directory of a containerd that has imported the images and
// has been stopped. Disks begin with a copy of it. The files of layers are hard
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
	// keyLength is enough of a hash to distinguish the stores of one cache.
	keyLength = 12
	// kept is how many stores stay in the cache, those that were used last.
	kept = 3
	// rootName is the runtime's root directory in a store.
	rootName = "root"
	// namespace is where the runtime keeps the images of pods.
	namespace = "k8s.io"
	// stopTimeout is how long a runtime may take to end when it is asked to.
	stopTimeout = time.Minute
)

// Stores are the stores in a cache.
type Stores struct {
	// Cache is the directory of what is built once.
	Cache string
	// Containerd and Ctr are the paths of the runtime and its client.
	Containerd, Ctr string
	// Run is a directory for sockets, whose paths are limited to 107 bytes, as
	// those in a cache may not be.
	Run string
	// Out takes one line per store that has to be made.
	Out io.Writer
}

// Fill gives an empty directory, the runtime's root on the disk of a node that is
// off, the images of archives.
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

// ensure returns the store of archives, which it makes when it is missing.
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
	// What a command that was killed has left is made again.
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

// key identifies a store by the images and by the build of the runtime, whose
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

// importAll runs a containerd on a root directory for as long as the imports take.
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
	var said bytes.Buffer
	daemon := exec.Command(s.Containerd, "--config="+file)
	daemon.Stdout, daemon.Stderr = &said, &said
	// It ends with the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// What it mounts to unpack layers concerns no other process, and ends with it.
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
		return fmt.Errorf("%w; containerd printed:\n%s", err, said.Bytes())
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

// await returns when the containerd answers, or when it has ended.
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

// clone makes an empty directory a copy of a root directory, in one step so that a
// crash leaves it empty: databases are copied, everything else is hard links where
// both are on one file system.
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

// separateDatabases makes the databases in a clone, which are written to, files of
// its own.
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

// separate makes a file that was a hard link of another one a copy of it.
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

// prune removes all stores but those that were used last.
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

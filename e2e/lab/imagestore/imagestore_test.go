package imagestore

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/image"
)

// write makes a file with its directories.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Ino
}

func TestDisksShareLayersAndNoDatabase(t *testing.T) {
	dir := t.TempDir()
	stores := Stores{Cache: dir, Containerd: "/bin/true", Out: io.Discard}
	archives := []image.Archive{{Digest: "sha256:1", References: []string{"a:1"}}}
	key, err := stores.key(archives)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "stores", key, rootName)
	const blob, layer, db = "content/blobs/sha256/1", "overlayfs/snapshots/1/fs/etc/metadata.db", "overlayfs/metadata.db"
	for _, name := range []string{blob, layer, db} {
		write(t, filepath.Join(root, name), name)
	}
	disk := filepath.Join(dir, "disk")
	write(t, filepath.Join(disk+".new", "half"), "left by a command that was killed")
	if err := os.Mkdir(disk, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := stores.Fill(t.Context(), archives, disk); err != nil {
		t.Fatal(err)
	}
	for name, shared := range map[string]bool{blob: true, layer: true, db: false} {
		if got := inode(t, filepath.Join(root, name)) == inode(t, filepath.Join(disk, name)); got != shared {
			t.Errorf("%s is one file in the store and on the disk: %v, want %v", name, got, shared)
		}
		if text, err := os.ReadFile(filepath.Join(disk, name)); err != nil || string(text) != name {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(disk, "half")); err == nil {
		t.Error("what a killed command left is on the disk")
	}
}

func TestAStoreIsForItsImagesAndItsRuntime(t *testing.T) {
	one := image.Archive{Digest: "sha256:1", References: []string{"a:1"}}
	two := image.Archive{Digest: "sha256:2", References: []string{"b:1"}}
	base := Stores{Containerd: "/bin/true"}
	want, err := base.key([]image.Archive{one, two})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		stores   Stores
		archives []image.Archive
		same     bool
	}{
		"the order of the archives does not matter": {base, []image.Archive{two, one}, true},
		"fewer images":         {base, []image.Archive{one}, false},
		"another build":        {base, []image.Archive{one, {Digest: "sha256:3", References: two.References}}, false},
		"another name":         {base, []image.Archive{one, {Digest: two.Digest, References: []string{"b:2"}}}, false},
		"another runtime":      {Stores{Containerd: "/bin/false"}, []image.Archive{one, two}, false},
		"the place of a cache": {Stores{Cache: "/elsewhere", Containerd: "/bin/true"}, []image.Archive{one, two}, true},
	} {
		if got, err := tt.stores.key(tt.archives); err != nil || (got == want) != tt.same {
			t.Errorf("%s: key %s, %v; the first one is %s", name, got, err, want)
		}
	}
}

func TestTheStoresThatWereUsedLastStay(t *testing.T) {
	stores := Stores{Cache: t.TempDir()}
	now := time.Now()
	for i := range kept + 2 {
		path := filepath.Join(stores.dir(), strconv.Itoa(i))
		write(t, filepath.Join(path, "file"), "")
		used := now.Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := stores.prune(); err != nil {
		t.Fatal(err)
	}
	for i := range kept + 2 {
		_, err := os.Stat(filepath.Join(stores.dir(), strconv.Itoa(i)))
		if stays := err == nil; stays != (i < kept) {
			t.Errorf("the store that was used %d hours ago stays: %v", i, stays)
		}
	}
}

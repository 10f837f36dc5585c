package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// TestPowerCutWithFiftyPods: paths of network namespaces, locks and the note of the last sweep are no more; records and results are. The calls
// that follow remove all of it, each network once, and none of a pod that has started since.
func TestPowerCutWithFiftyPods(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	const pods = 50
	dir := t.TempDir()
	start := func(id string) {
		t.Helper()
		r := f.request(cniproto.Add, annotated)
		r.ContainerID, r.NetNS = id, filepath.Join(dir, id)
		if err := os.WriteFile(r.NetNS, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.shim.Do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pods {
		start(fmt.Sprintf("pod%d", i))
	}
	before := len(calls())
	for _, gone := range []string{dir, f.shim.Run} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	start("later")
	turns := 0
	for range 60 { // each call works on it for two seconds at most
		turns++
		if _, err := f.shim.Do(t.Context(), f.request(cniproto.Status, nil)); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(f.files("sandboxes"), []string{"later.complete", "later.json"}) {
			break
		}
	}
	if left := f.files("sandboxes"); !slices.Equal(left, []string{"later.complete", "later.json"}) || len(f.files("results")) != 3 {
		t.Errorf("left: %v, %v", left, f.files("results"))
	}
	count := map[string]int{}
	for _, call := range calls()[before:] {
		count[call]++
	}
	want := map[string]int{"ADD eth0": 1, "ADD net1": 1, "ADD net2": 1, "DEL eth0": pods, "DEL net1": pods, "DEL net2": pods}
	for name, n := range count {
		switch {
		case strings.HasPrefix(name, "STATUS"):
			delete(count, name)
		case strings.HasPrefix(name, "DEL") && n > pods && n <= pods+turns: // the end of a call interrupts a plugin, which is called again
			count[name] = pods
		}
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

// disk puts the shim's state on a small file system of its own.
func (f *fixture) disk() {
	f.t.Helper()
	if err := os.MkdirAll(f.shim.State, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", f.shim.State, "tmpfs", 0, "size=256k"); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = unix.Unmount(f.shim.State, unix.MNT_DETACH) })
}

// TestAFullDisk keeps a pod from starting before any plugin has run, and none from ending.
func TestAFullDisk(t *testing.T) {
	f := newFixture(t)
	f.disk()
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	filler := filepath.Join(f.shim.State, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	before := len(calls())
	other := f.request(cniproto.Add, annotated)
	other.ContainerID = "c2"
	if _, err := f.shim.Do(t.Context(), other); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("ADD: %v", err)
	}
	if ran := calls()[before:]; len(ran) > 0 {
		t.Errorf("plugins ran without a record: %v", ran)
	}
	f.must(cniproto.Delete, annotated)
	if diff := cmp.Diff([]string{"DEL net2", "DEL net1", "DEL eth0"}, calls()[before:]); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if _, err := f.shim.Do(t.Context(), other); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// TestAReadOnlyDisk likewise; a DEL is an error until the record can be removed, and repeats what it has done.
func TestAReadOnlyDisk(t *testing.T) {
	f := newFixture(t)
	f.disk()
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", f.shim.State, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	before := len(calls())
	other := f.request(cniproto.Add, annotated)
	other.ContainerID = "c2"
	if _, err := f.shim.Do(t.Context(), other); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("ADD: %v", err)
	}
	if ran := calls()[before:]; len(ran) > 0 {
		t.Errorf("plugins ran without a record: %v", ran)
	}
	if _, err := f.do(cniproto.Delete, annotated); err == nil {
		t.Error("a DEL whose record stays is a success")
	}
	remount(0)
	f.must(cniproto.Delete, annotated)
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestADeletedStateDirectory: what the shim knew of pods that run is lost, but for their default network; pods end, and others start.
func TestADeletedStateDirectory(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	before := len(calls())
	if err := os.RemoveAll(f.shim.State); err != nil {
		t.Fatal(err)
	}
	f.must(cniproto.Delete, annotated)
	if diff := cmp.Diff([]string{"DEL eth0"}, calls()[before:]); diff != "" {
		t.Error(diff)
	}
	f.must(cniproto.Add, annotated)
	if info, err := os.Stat(filepath.Join(f.shim.State, "sandboxes")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory that is created again: %v %v", info, err)
	}
	f.must(cniproto.Delete, annotated)
}

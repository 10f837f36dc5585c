package attach

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// earlier is the state directory of a sandbox as the version wrote it that noted a complete ADD in the record.
const earlier = "testdata/recorded-complete"

// TestRecordsOfThePreviousVersionAreRead: pods run while a node is upgraded.
func TestRecordsOfThePreviousVersionAreRead(t *testing.T) {
	f := newFixture(t)
	calls := recorded(f)
	if err := os.CopyFS(f.shim.State, os.DirFS(earlier)); err != nil {
		t.Fatal(err)
	}
	saved, err := ReadSaved(f.shim.State)
	if err != nil || len(saved) != 1 || saved[0].Pod.UID != "u1" || len(saved[0].Networks) != 3 {
		t.Errorf("the daemon does not know the pod: %+v %v", saved, err)
	}
	f.must(cniproto.Delete, annotated)
	want := []passed{
		{"DEL net2", "c1", "ns-b", "1.0.0", nil},
		{"DEL net1", "c1", "ns-a", "1.0.0", nil},
		{"DEL eth0", "c1", "pods", "1.0.0", nil},
	}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Error(diff)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPreviousVersionReadsRecords: this version writes the format and the keys of the previous one, whose DEL can undo it. It
// leaves the note of the ADD, which this version removes after the next upgrade.
func TestPreviousVersionReadsRecords(t *testing.T) {
	f := newFixture(t)
	f.scripted(scripts, "")
	f.plan.Attachments[1].Runtime = map[string]any{"ips": []string{"192.0.2.9/24"}}
	f.must(cniproto.Add, annotated)
	read := func(dir string) map[string]any {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, "sandboxes", "c1.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]any
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	now, before := read(f.shim.State), read(earlier)
	for _, file := range []map[string]any{now, before} {
		// These differ with the sandbox.
		record, _ := file["record"].(map[string]any)
		delete(file, "sha256")
		delete(record, "netns")
		delete(record, "netnsID")
	}
	delete(before["record"].(map[string]any), "complete")
	if diff := cmp.Diff(before, now); diff != "" {
		t.Error(diff)
	}

	// The version before runs DEL, and removes the record.
	for _, name := range f.files("results") {
		if err := os.Remove(filepath.Join(f.shim.State, "results", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(f.shim.State, "sandboxes", "c1.json")); err != nil {
		t.Fatal(err)
	}
	other := f.request(cniproto.Add, annotated)
	other.ContainerID = "c2"
	if _, err := f.shim.Do(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(f.shim.Run); err != nil { // when it was swept last
		t.Fatal(err)
	}
	f.must(cniproto.Status, nil)
	if diff := cmp.Diff([]string{"c2.complete", "c2.json"}, f.files("sandboxes")); diff != "" {
		t.Error(diff)
	}
}

// TestTheShimIsReplacedUnderLoad: runtimes start it all the time. None of the calls fails, whichever of two versions it starts.
func TestTheShimIsReplacedUnderLoad(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	plan := f.planFile()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	versions, bin := []string{t.TempDir(), t.TempDir()}, t.TempDir()
	for i, dir := range versions {
		// What follows the end of a program does not matter to the kernel.
		if err := os.WriteFile(filepath.Join(dir, "multus-shim"), append(slices.Clone(program), byte(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// It is a process of its own, as on a node: a file that this process writes would be open in plugins that it starts at that moment.
	install := func(version int) {
		t.Helper()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), envInstall+"="+versions[version]+":"+bin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	install(0)
	const callers, pods = 4, 5
	var group sync.WaitGroup
	var ended atomic.Int64
	for caller := range callers {
		group.Go(func() {
			defer ended.Add(1)
			for pod := range pods {
				r := f.request(cniproto.Add, annotated)
				r.ContainerID = fmt.Sprintf("c%d-%d", caller, pod)
				for _, r.Command = range []string{cniproto.Add, cniproto.Delete} {
					if err := f.run(filepath.Join(bin, "multus-shim"), r, plan); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	replaced := 0
	for ; ended.Load() < callers; replaced++ {
		install((replaced + 1) % len(versions))
	}
	group.Wait()
	if replaced < 2 {
		t.Errorf("the shim was replaced %d times", replaced)
	}
	if n := len(calls()); n != callers*pods*6 {
		t.Errorf("%d calls of plugins, want %d", n, callers*pods*6)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

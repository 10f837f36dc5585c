package networkmanager

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFolderIsMadeWhatItWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "system-connections")
	if changed, err := writeDirectory(dir, nil); err != nil || changed {
		t.Fatalf("a missing directory has nothing to restore: %t, %v", changed, err)
	}
	want := map[string][]byte{"a.nmconnection": []byte("a"), "b.nmconnection": []byte("b")}
	if changed, err := writeDirectory(dir, want); err != nil || !changed {
		t.Fatal(changed, err)
	}
	for name, content := range map[string]string{"a.nmconnection": "edited", "new.nmconnection": "new", "README": "not a profile", ".b.nmconnection": "nor this"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := writeDirectory(dir, want); err != nil || !changed {
		t.Fatal(changed, err)
	}
	got, err := readDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if changed, err := writeDirectory(dir, want); err != nil || changed {
		t.Errorf("what is right is written again: %t, %v", changed, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "README")); err != nil {
		t.Error("a file that is no profile was removed")
	}
	if info, err := os.Stat(filepath.Join(dir, "a.nmconnection")); err != nil || info.Mode() != keyfileMode {
		t.Errorf("NetworkManager does not read a file of mode %v", info.Mode())
	}
}

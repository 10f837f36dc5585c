package backends

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name      string
		asked     Kind
		runs      bool
		begun     Kind
		want      Kind
		wantError error
	}{
		{name: "NetworkManager where it runs", asked: Auto, runs: true, want: NetworkManager},
		{name: "netlink on a host without it", asked: Auto, want: Netlink},
		{name: "what is asked for, though NetworkManager runs", asked: Netlink, runs: true, want: Netlink},
		{name: "no netlink behind the back of someone who asked for NetworkManager", asked: NetworkManager, wantError: ErrNotRunning},
		{name: "who began a change ends it", asked: Auto, runs: true, begun: Netlink, want: Netlink},
		{name: "a change that NetworkManager began waits for it", asked: Auto, begun: NetworkManager, wantError: ErrNotRunning},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.begun != "" {
				if err := Remember(dir, tt.begun); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "journal.json"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Choose(tt.asked, dir, tt.runs)
			if got != tt.want || !errors.Is(err, tt.wantError) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestRememberReplaces(t *testing.T) {
	dir := t.TempDir()
	for _, k := range []Kind{NetworkManager, NetworkManager, Netlink} {
		if err := Remember(dir, k); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "backend")); err != nil || string(data) != string(k)+"\n" {
			t.Errorf("after %s the file holds %q (%v)", k, data, err)
		}
	}
}

func TestUnreadableMemoryIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Choose(Auto, dir, true); err == nil {
		t.Error("a change is under way, no one knows whose, and another backend is chosen")
	}
	if err := os.WriteFile(filepath.Join(dir, "backend"), []byte("auto\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Choose(Auto, dir, true); err == nil {
		t.Error("auto has no snapshot of its own")
	}
}

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRaiseLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limit")
	for _, tc := range []struct{ have, want, why string }{
		{"128\n", "1024", "the kernel's default is too low"},
		{"4096\n", "4096", "a higher limit stays"},
	} {
		if err := os.WriteFile(file, []byte(tc.have), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := raiseLimit(file, inotifyInstances); err != nil {
			t.Errorf("%s: %v", tc.why, err)
		}
		if got, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(got)) != tc.want {
			t.Errorf("%s: %q, %v", tc.why, got, err)
		}
	}
	if err := os.WriteFile(file, []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := raiseLimit(file, inotifyInstances); err == nil {
		t.Error("a file without a number is no error")
	}
}

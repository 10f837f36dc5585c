package ovs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyTheOwnerReachesSockets(t *testing.T) {
	byKubelet := t.TempDir()
	if err := os.Chmod(byKubelet, 0o755); err != nil {
		t.Fatal(err)
	}
	for why, path := range map[string]string{"a new directory": filepath.Join(t.TempDir(), "run", "openvswitch"), "one that the kubelet created": byKubelet} {
		if err := socketDirectory(path); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", why, info.Mode(), err)
		}
	}
}

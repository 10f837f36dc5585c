package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources is where the bundle is made of.
const sources = "../../../ui"

func TestTheBundleIsThatOfTheSources(t *testing.T) {
	names := []string{"build.mjs", "package.json", "package-lock.json"}
	err := fs.WalkDir(os.DirFS(sources), "src", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	digest := sha256.New()
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			t.Fatal(err)
		}
		digest.Write([]byte(name + "\n"))
		digest.Write(content)
		digest.Write([]byte("\n"))
	}
	recorded, err := os.ReadFile("sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != strings.TrimSpace(string(recorded)) {
		t.Errorf("the sources have changed since the bundle was built: run make ui, and commit internal/ui/web")
	}
}

// Where its packages are installed, the bundle is built again: the same sources give the same bytes.
func TestTheBundleIsReproducible(t *testing.T) {
	if _, err := os.Stat(filepath.Join(sources, "node_modules", "esbuild")); err != nil {
		t.Log("ui/node_modules does not exist: only the digest of the sources is compared; make ui installs it")
		return
	}
	out := t.TempDir()
	if text, err := exec.CommandContext(t.Context(), "node", filepath.Join(sources, "build.mjs"), out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	built := map[string]bool{}
	err := fs.WalkDir(os.DirFS(out), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		built[name] = true
		have, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		if embedded, err := fs.ReadFile(Files(), name); err != nil || !bytes.Equal(have, embedded) {
			t.Errorf("%s differs from the one that is built: run make ui (%v)", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !built[name] {
			t.Errorf("%s is not built any more: run make ui", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

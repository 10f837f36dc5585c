package component

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
)

// Builder builds components into a cache.
type Builder struct {
	// Modules is the directory of the build modules, Cache that of the built binaries.
	Modules, Cache string
	// Arch is the architecture to build for; empty means that of this machine.
	Arch string
}

func (b Builder) arch() string { return cmp.Or(b.Arch, runtime.GOARCH) }

// Path returns the path of the built program, whether it exists or not.
func (b Builder) Path(c Component) (string, error) {
	key, err := b.key(c)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.Cache, "bin", fmt.Sprintf("%s-%s-%s", c.Name, c.Version, key), c.Name), nil
}

// Built reports whether the program exists.
func (b Builder) Built(c Component) (bool, error) {
	path, err := b.Path(c)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	return err == nil, nil
}

// Build builds the component unless it is built, and returns its path. Concurrent
// processes build it once.
func (b Builder) Build(ctx context.Context, c Component) (string, error) {
	path, err := b.Path(c)
	if err != nil {
		return "", err
	}
	unlock, err := filelock.Acquire(ctx, filepath.Join(b.Cache, "locks", filepath.Base(filepath.Dir(path))))
	if err != nil {
		return "", fmt.Errorf("build %s: %w", c.Name, err)
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := b.build(ctx, c, filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("build %s: %w", c.Name, err)
	}
	return path, nil
}

// build fills a temporary directory and renames it, so that the final one is
// complete.
func (b Builder) build(ctx context.Context, c Component, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	cmd := exec.CommandContext(ctx, "go", goArgs(c, filepath.Join(temp, c.Name))...)
	cmd.Dir = filepath.Join(b.Modules, c.Module)
	cmd.Env = append(append(os.Environ(), buildEnv()...), "GOARCH="+b.arch())
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(output.String()))
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// buildEnv returns the environment of builds that are static and reproducible. The
// caller's workspace and flags must not affect the build.
func buildEnv() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off"}
}

func goArgs(c Component, out string) []string {
	args := []string{"build"}
	if c.Test {
		args = []string{"test", "-c"}
	}
	ldflags := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(c.Vars)) {
		ldflags = append(ldflags, "-X", name+"="+c.Vars[name])
	}
	if c.ModFile != "" {
		args = append(args, "-modfile="+c.ModFile)
	}
	args = append(args, "-mod=readonly", "-trimpath", "-ldflags="+strings.Join(ldflags, " "))
	return append(args, "-o", out, c.Package)
}

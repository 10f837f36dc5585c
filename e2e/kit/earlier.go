package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/cluster-network-operator/cno/internal/image"
)

// Earlier is the operator of an earlier commit: its images, and its cno.
type Earlier struct {
	// Commit is the commit, a full hash, and Version the version that is linked into its binaries and is the tag of its images.
	Commit, Version string

	kit *Kit
	dir string
}

// Earlier builds an earlier commit of this repository, outside the checkout, and keeps the result for later calls. The images are those of the
// given names. The commit must be in the repository: a shallow clone or an exported tree does not have it.
func (k *Kit) Earlier(ctx context.Context, commit, version string, images ...string) (*Earlier, error) {
	e := &Earlier{Commit: commit, Version: version, kit: k, dir: filepath.Join(image.DefaultCache(os.Getenv), "earlier", commit+"-"+version)}
	if _, err := os.Stat(e.dir); err == nil {
		return e, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, err := k.run(ctx, "git", nil, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return nil, fmt.Errorf("commit %s, from which the earlier release is built, is not in this repository; in a shallow clone run: git fetch --unshallow; a tree without history cannot run this test: %w", commit, err)
	}
	if err := os.MkdirAll(filepath.Dir(e.dir), 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(e.dir), ".building-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	source, out := filepath.Join(temp, "source"), filepath.Join(temp, "out")
	if err := e.checkOut(ctx, source, filepath.Join(temp, "source.tar")); err != nil {
		return nil, err
	}
	if err := e.build(ctx, source, out, images); err != nil {
		return nil, fmt.Errorf("build commit %s: %w", commit, err)
	}
	// Another process may have built the same.
	if err := os.Rename(out, e.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return e, nil
}

// checkOut writes the files of the commit into a directory, without a working tree of git.
func (e *Earlier) checkOut(ctx context.Context, dir, archive string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := e.kit.run(ctx, "git", nil, "archive", "--output="+archive, e.Commit); err != nil {
		return err
	}
	_, err := e.kit.run(ctx, "tar", nil, "-xf", archive, "-C", dir)
	return err
}

// build builds cno and the images. Programs of other modules, such as etcd, are those of the checkout.
func (e *Earlier) build(ctx context.Context, source, out string, names []string) error {
	in := image.Inputs{
		Programs: filepath.Join(out, "bin"), Components: filepath.Join(e.kit.Root, "_output", "lab", "bin"),
		Images: filepath.Join(source, "images"), Version: e.Version, Arch: runtime.GOARCH,
	}
	programs := []string{"cno"}
	definitions := make([]image.Definition, 0, len(names))
	for _, name := range names {
		d, err := in.Definition(name)
		if err != nil {
			return err
		}
		definitions = append(definitions, d)
		for _, f := range d.Files {
			if f.Program != "" {
				programs = append(programs, f.Program)
			}
		}
	}
	slices.Sort(programs)
	cmd := exec.CommandContext(ctx, filepath.Join(source, "hack", "build-go.sh"), slices.Compact(programs)...)
	cmd.Env = append(os.Environ(), "OUT="+in.Programs, "VERSION="+e.Version, "GOFLAGS=-buildvcs=false")
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, text.String())
	}
	builder := image.Builder{Cache: image.DefaultCache(os.Getenv), Progress: func(string) {}}
	if err := os.MkdirAll(filepath.Join(out, "images"), 0o755); err != nil {
		return err
	}
	for _, d := range definitions {
		if err := builder.Build(ctx, d.Spec(in), filepath.Join(out, "images", d.Name+".tar")); err != nil {
			return fmt.Errorf("image %s: %w", d.Name, err)
		}
	}
	return nil
}

// Images returns the arguments of lab up for its images.
func (e *Earlier) Images() ([]string, error) {
	tars, err := filepath.Glob(filepath.Join(e.dir, "images", "*.tar"))
	if err != nil {
		return nil, err
	}
	var args []string
	for _, tar := range tars {
		args = append(args, "--image="+tar)
	}
	return args, nil
}

// CNO runs its cno against the lab, as Kit.CNO does with that of the checkout.
func (e *Earlier) CNO(ctx context.Context, input string, args ...string) (out string, status int, err error) {
	return e.kit.cno(ctx, filepath.Join(e.dir, "bin", "cno"), input, args)
}

// String describes it for the log of a test.
func (e *Earlier) String() string { return fmt.Sprintf("%s (%s)", e.Version, e.Commit[:12]) }

// Package image builds container images as docker-archive tars, or as OCI archives for several architectures, without a
// container engine and without a registry. An image is at most two layers: a closure of Debian packages, and files of
// this machine.
//
// The same inputs give the same bytes: entries are sorted, all times are the epoch, owners are numbers. What
// is slow is kept in a cache directory: packages by version, package layers by the versions in them.
package image

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
)

// Spec is an image to build.
type Spec struct {
	// Reference is the name and tag that the image is imported under, for example localhost/cno/flannel:v0.1.0.
	Reference string
	// Files are added on top of the packages.
	Files []File
	// DebianPackages are installed with everything that they depend on, but without what they recommend. No
	// maintainer script runs; see alternatives.go for what is done in place of the scripts.
	DebianPackages []string
	// Entrypoint, Cmd and Env are as in a Dockerfile. PATH is set when Env does not set it.
	Entrypoint, Cmd, Env []string
	// User is a number or a name, with an optional group after a colon; empty is root.
	User string
	// WorkingDir is the directory that processes start in; empty is the root.
	WorkingDir string
	// Arch is the architecture of packages and image, as in GOARCH: amd64 or arm64. Empty is that of this machine.
	Arch string
}

func (s Spec) arch() string { return cmp.Or(s.Arch, runtime.GOARCH) }

// File is one entry of an image: a copy of a file of this machine, or, if Link or Dir is set, a symbolic link
// or a directory. Directories above it are made as needed. It belongs to root.
type File struct {
	// Source is the file on this machine to copy. It must be a regular file, or a symbolic link to one.
	Source string
	// Path is where the entry is in the image; absolute.
	Path string
	// Mode are the permissions; 0 means 0755 for directories and the permissions of Source for files.
	Mode fs.FileMode
	// Link, if not empty, makes the entry a symbolic link to it.
	Link string
	// Dir makes the entry a directory.
	Dir bool
}

// Builder builds images.
type Builder struct {
	// Cache is the directory for downloaded packages and package layers. It is made when missing, may be emptied
	// at any time, and may be shared by builders in several processes.
	Cache string
	// Progress, if not nil, is called with a sentence before each step that may take long.
	Progress func(string)
}

// DefaultCache is the cache directory that the environment asks for: $CNO_CACHE, else the directory cno of the
// user's caches. The argument is os.Getenv or a stand-in for it.
func DefaultCache(getenv func(string) string) string {
	if dir := getenv("CNO_CACHE"); dir != "" {
		return dir
	}
	if dir := getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "cno")
	}
	return filepath.Join(getenv("HOME"), ".cache", "cno")
}

// Build writes the image to outPath, replacing what is there once all of it is written.
func (b Builder) Build(ctx context.Context, spec Spec, outPath string) error {
	if err := b.build(ctx, spec, outPath); err != nil {
		return fmt.Errorf("build image %s: %w", spec.Reference, err)
	}
	return nil
}

func (b Builder) build(ctx context.Context, spec Spec, outPath string) error {
	layers, remove, err := b.layers(ctx, spec, outPath+".layer")
	defer remove()
	if err != nil {
		return err
	}
	return writeArchive(spec, layers, outPath)
}

// layers writes the layers of an image, that of the files of this machine to a path. The caller calls remove when the layers
// are not needed any more.
func (b Builder) layers(ctx context.Context, spec Spec, path string) (layers []layer, remove func(), err error) {
	remove = func() {}
	if len(spec.DebianPackages) > 0 {
		l, err := b.packageLayer(ctx, spec.arch(), spec.DebianPackages)
		if err != nil {
			return nil, remove, fmt.Errorf("install Debian packages: %w", err)
		}
		layers = append(layers, l)
	}
	if len(spec.Files) > 0 {
		t, err := filesTree(spec.Files)
		if err != nil {
			return nil, remove, err
		}
		l, err := t.layer(ctx, path)
		if err != nil {
			return nil, remove, fmt.Errorf("write files: %w", err)
		}
		remove = l.remove
		layers = append(layers, l)
	}
	return layers, remove, nil
}

func (b Builder) progress(format string, args ...any) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf(format, args...))
	}
}

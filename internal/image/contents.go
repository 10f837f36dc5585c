package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Package is a Debian package that is in an image.
type Package struct {
	// Name, Version and Arch are those of the package. Arch is "all" where it serves every architecture.
	Name, Version, Arch string
	// Source is the name of the source package, with its version in parentheses where that differs; it may be empty.
	Source string
	// Maintainer and Homepage are as in the control file; they may be empty.
	Maintainer, Homepage string
	// SHA256 is that of the file, in hexadecimal.
	SHA256 string
}

// Packages returns the Debian packages that a build for an architecture puts into an image, sorted by file name. They
// are downloaded unless they are in the cache.
func (b Builder) Packages(ctx context.Context, arch string, names []string) ([]Package, error) {
	if len(names) == 0 {
		return nil, nil
	}
	a := b.apt(arch)
	debs, err := a.closure(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("resolve Debian packages: %w", err)
	}
	out := make([]Package, 0, len(debs))
	for _, d := range debs {
		p, err := readPackage(ctx, filepath.Join(a.debs(), d.file))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d.file, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func readPackage(ctx context.Context, path string) (Package, error) {
	var p Package
	fields := map[string]*string{
		"Package": &p.Name, "Version": &p.Version, "Architecture": &p.Arch, "Source": &p.Source, "Maintainer": &p.Maintainer, "Homepage": &p.Homepage,
	}
	args := []string{"-f", path}
	for name := range fields {
		args = append(args, name)
	}
	cmd := exec.CommandContext(ctx, "dpkg-deb", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	control, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("dpkg-deb: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	for line := range strings.Lines(string(control)) {
		if name, value, ok := strings.Cut(line, ":"); ok && fields[name] != nil {
			*fields[name] = strings.TrimSpace(value)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return p, err
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

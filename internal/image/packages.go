package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// layerFormat is part of the name of a cached package layer. It must change whenever the same packages are
// to give a different layer.
const layerFormat = "2"

// packageLayer returns the layer with the packages, from the cache if it is there.
func (b Builder) packageLayer(ctx context.Context, arch string, packages []string) (layer, error) {
	a := b.apt(arch)
	debs, err := a.closure(ctx, packages)
	if err != nil {
		return layer{}, err
	}
	path := filepath.Join(b.Cache, "layers", layerKey(debs)+".tar")
	if l, err := openLayer(path); err == nil {
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return layer{}, err
	}
	b.progress("unpacking %d Debian packages", len(debs))
	t := tree{}
	for _, d := range debs {
		if err := t.unpack(ctx, filepath.Join(a.debs(), d.file)); err != nil {
			return layer{}, fmt.Errorf("unpack %s: %w", d.file, err)
		}
	}
	t.complete()
	partial := fmt.Sprintf("%s.%d", path, os.Getpid())
	l, err := t.layer(ctx, partial)
	if err != nil {
		return layer{}, err
	}
	l.path = path
	return l, os.Rename(partial, path)
}

// layerKey names a layer by what is in it.
func layerKey(debs []deb) string {
	sum := sha256.New()
	fmt.Fprintln(sum, layerFormat)
	for _, d := range debs {
		fmt.Fprintln(sum, d.file)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// unpack adds the files of a package.
func (t tree) unpack(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := t.readTar(out)
	_, _ = io.Copy(io.Discard, out) // dpkg-deb fails if its output is not read to the end
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("dpkg-deb: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return readErr
}

func (t tree) readTar(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if dispensable(clean(h.Name)) {
			continue
		}
		e := entry{mode: h.FileInfo().Mode(), uid: h.Uid, gid: h.Gid}
		switch h.Typeflag {
		case tar.TypeDir:
		case tar.TypeSymlink:
			e.link = h.Linkname
		case tar.TypeLink:
			e.link, e.hard = clean(h.Linkname), true
		case tar.TypeReg:
			if e.content, err = io.ReadAll(tr); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is of type %q, which no package of Debian 12 should hold", h.Name, h.Typeflag)
		}
		t.add(h.Name, e)
	}
}

// dispensable reports whether nothing in a container reads the path: documentation, files for package tools and init
// systems, and character sets besides those of the C library itself.
func dispensable(name string) bool {
	for _, dir := range []string{
		"etc/cron.d", "etc/cron.daily", "etc/default", "etc/init.d", "etc/logrotate.d",
		"usr/lib/systemd", "usr/share/bash-completion", "usr/share/bug", "usr/share/doc", "usr/share/doc-base",
		"usr/share/gcc", "usr/share/info", "usr/share/lintian", "usr/share/locale", "usr/share/man", "usr/share/menu",
		"usr/share/zsh", "var/cache", "var/lib/dpkg",
	} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return strings.HasPrefix(name, "usr/lib/") && strings.Contains(name, "/gconv")
}

// complete adds files that a Debian system has in addition to those of packages.
func (t tree) complete() {
	for _, name := range merged() {
		if _, ok := t["usr/"+name]; ok {
			t[name] = entry{mode: fs.ModeSymlink | 0o777, link: "usr/" + name}
		}
	}
	for _, dir := range []string{"dev", "etc", "proc", "root", "run", "sys", "tmp", "var/tmp"} {
		t.add(dir, entry{mode: fs.ModeDir | parentMode(dir)})
	}
	t.add("var/run", entry{mode: fs.ModeSymlink | 0o777, link: "/run"})
	t.addAlternatives()
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"etc/group":  "root:x:0:\nnogroup:x:65534:\n",
	} {
		if _, ok := t[name]; !ok {
			t.add(name, entry{mode: 0o644, content: []byte(text)})
		}
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/release"
)

// notReleased are binaries that only tests run; cno is built once the digests of the images are known.
var notReleased = []string{"cno", "toy-agent"}

// programDir is the directory of the binaries for Linux on an architecture.
func (b *build) programDir(arch string) string { return filepath.Join(b.work, "linux", arch) }

// componentDir is the directory to which the command lab writes binaries of other modules.
func componentDir(arch string) string {
	dir := filepath.Join("_output", "lab", "bin")
	if arch != runtime.GOARCH {
		dir += "-" + arch
	}
	return dir
}

// programs builds those of this module for nodes, and those of other modules that are in images, and packs the former.
func (b *build) programs(ctx context.Context) error {
	names, components, err := b.parts()
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		b.progress("programs for linux/" + arch)
		if len(names) > 0 { // without a name, all programs would be built
			if err := b.compile(ctx, "linux", arch, b.programDir(arch), "", names...); err != nil {
				return err
			}
		}
		if len(components) > 0 { // the lab's program builds all of them if none is named
			if _, err := b.output(ctx, nil, filepath.Join("_output", "lab-bin", "lab"), append([]string{"build", "--arch", arch}, components...)...); err != nil {
				return err
			}
		}
		if err := b.packPrograms(arch, names); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) packPrograms(arch string, names []string) error {
	var files []packed
	for _, name := range names {
		if name == "cno" { // in the image must-gather; its own archive has the one with the digests of the images
			continue
		}
		files = append(files, packed{name: name, source: filepath.Join(b.programDir(arch), name), mode: 0o755})
	}
	files = append(files, packed{name: "LICENSE", source: "LICENSE", mode: 0o644})
	return b.tarball(fmt.Sprintf("programs_%s_linux_%s.tar.gz", b.version, arch), files)
}

// compile builds programs for a platform.
func (b *build) compile(ctx context.Context, goos, arch, dir, flags string, names ...string) error {
	env := []string{"GOOS=" + goos, "GOARCH=" + arch, "OUT=" + dir, "VERSION=" + b.version, "LDFLAGS=" + flags, "GOFLAGS=-buildvcs=false"}
	_, err := b.output(ctx, env, "hack/build-go.sh", names...)
	return err
}

// definitions are those of all images.
func (b *build) definitions(arch string) ([]image.Definition, image.Inputs, error) {
	in := image.Inputs{Programs: b.programDir(arch), Components: componentDir(arch), Images: "images", Version: b.version, Arch: arch}
	entries, err := os.ReadDir(in.Images)
	if err != nil {
		return nil, in, err
	}
	var out []image.Definition
	for _, e := range entries {
		if len(b.only) > 0 && !slices.Contains(b.only, e.Name()) {
			continue
		}
		d, err := in.Definition(e.Name())
		if err != nil {
			return nil, in, err
		}
		out = append(out, d)
	}
	if len(out) < len(b.only) {
		return nil, in, fmt.Errorf("-only %s: not all of them are in the directory images", strings.Join(b.only, ","))
	}
	return out, in, nil
}

// parts are the programs of this module to release, and those of other modules that images contain.
func (b *build) parts() (programs, components []string, err error) {
	definitions, _, err := b.definitions(runtime.GOARCH)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range definitions {
		for _, f := range d.Files {
			switch {
			case f.Component != "":
				components = append(components, f.Component)
			case f.Program != "":
				programs = append(programs, f.Program)
			}
		}
	}
	if len(b.only) == 0 {
		entries, err := os.ReadDir("cmd")
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if !slices.Contains(notReleased, e.Name()) {
				programs = append(programs, e.Name())
			}
		}
	}
	slices.Sort(programs)
	slices.Sort(components)
	return slices.Compact(programs), slices.Compact(components), nil
}

// platform is one for which cno is built.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the name of cno's file.
func (p platform) program() string {
	if p.os == "windows" {
		return "cno.exe"
	}
	return "cno"
}

// archive is the name of the archive of cno.
func (b *build) archive(p platform) string {
	suffix := ".tar.gz"
	if p.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("cno_%s_%s_%s%s", b.version, p.os, p.arch, suffix)
}

func (b *build) platforms() []platform {
	if len(b.only) > 0 {
		return []platform{{runtime.GOOS, runtime.GOARCH}}
	}
	var out []platform
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, arch := range architectures {
			out = append(out, platform{system, arch})
		}
	}
	return out
}

// cno builds the administrator's tool with the digests of the images, and packs it with its manual and completions.
func (b *build) cno(ctx context.Context) error {
	variable, value := release.LinkerValue(b.digests)
	for _, p := range b.platforms() {
		b.progress("cno for " + p.String())
		if err := b.compile(ctx, p.os, p.arch, filepath.Join(b.work, p.os, p.arch), "-X "+variable+"="+value, "cno"); err != nil {
			return err
		}
	}
	own := filepath.Join(b.work, runtime.GOOS, runtime.GOARCH, "cno")
	extra, err := b.extra(ctx, own)
	if err != nil {
		return err
	}
	for _, p := range b.platforms() {
		files := append([]packed{
			{name: p.program(), source: filepath.Join(b.work, p.os, p.arch, p.program()), mode: 0o755},
			{name: "LICENSE", source: "LICENSE", mode: 0o644},
		}, extra...)
		pack := b.tarball
		if p.os == "windows" {
			pack = b.zip
		}
		if err := pack(b.archive(p), files); err != nil {
			return err
		}
	}
	return nil
}

// extra are the files beside cno: manual pages and completions, written by the program itself.
func (b *build) extra(ctx context.Context, cno string) ([]packed, error) {
	var out []packed
	manual := filepath.Join(b.work, "man")
	if _, err := b.output(ctx, nil, cno, "man", "--date", b.date.Format("2006-01-02"), manual); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(manual)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		out = append(out, packed{name: "man/man1/" + page.Name(), source: filepath.Join(manual, page.Name()), mode: 0o644})
	}
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		script, err := b.output(ctx, nil, cno, "completion", shell)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(b.work, "completion."+shell)
		if err := os.WriteFile(path, []byte(strings.TrimRight(script, "\n")+"\n"), 0o644); err != nil {
			return nil, err
		}
		out = append(out, packed{name: "completions/cno." + shell, source: path, mode: 0o644})
	}
	return out, nil
}

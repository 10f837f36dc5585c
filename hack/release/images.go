package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/release/chart"
	"github.com/cluster-network-operator/cno/internal/release/krew"
	"github.com/cluster-network-operator/cno/internal/release/olm"
	"github.com/cluster-network-operator/cno/internal/release/provenance"
	"github.com/cluster-network-operator/cno/internal/release/spdx"
)

// debian is the release whose packages are in images.
const debian = "bookworm"

// images builds each image for all architectures into one archive, with its bill of materials.
func (b *build) images(ctx context.Context) error {
	b.digests = map[string]string{}
	b.builder = image.Builder{Cache: image.DefaultCache(os.Getenv), Progress: func(s string) { b.progress("  " + s) }}
	first, _, err := b.definitions(architectures[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.out, "images"), 0o755); err != nil {
		return err
	}
	for i, d := range first {
		b.progress("image " + d.Name)
		if err := b.image(ctx, i, d.Name); err != nil {
			return err
		}
	}
	return nil
}

// image builds the image with an index among the definitions.
func (b *build) image(ctx context.Context, i int, name string) error {
	var specs []image.Spec
	parts := map[string]image.Definition{}
	for _, arch := range architectures {
		definitions, in, err := b.definitions(arch)
		if err != nil {
			return err
		}
		parts[arch] = definitions[i]
		specs = append(specs, definitions[i].Spec(in))
	}
	file := "images/" + name + ".tar"
	annotations := map[string]string{
		"org.opencontainers.image.title": name, "org.opencontainers.image.version": b.version,
		"org.opencontainers.image.revision": b.commit, "org.opencontainers.image.source": repository,
	}
	digest, err := b.builder.BuildIndex(ctx, specs, annotations, filepath.Join(b.out, file))
	if err != nil {
		return err
	}
	b.digests[name] = digest.String()
	if b.sums[file], err = sum(filepath.Join(b.out, file)); err != nil {
		return err
	}
	return b.imageBill(ctx, name, specs, parts)
}

// imageBill writes what an image contains: programs with their modules, and Debian packages.
func (b *build) imageBill(ctx context.Context, name string, specs []image.Spec, parts map[string]image.Definition) error {
	doc := spdx.New(spdx.Image(name, b.version, b.digests[name]), b.namespace("images/"+name), b.date)
	for _, spec := range specs {
		packages, err := b.builder.Packages(ctx, spec.Arch, parts[spec.Arch].Packages)
		if err != nil {
			return err
		}
		for _, p := range packages {
			part := spdx.Debian(p.Name, p.Version, p.Arch, debian, p.SHA256)
			part.Homepage = p.Homepage
			doc.Add(doc.Subject(), part)
			b.inputs[part.ExternalRefs[0].Locator] = p.SHA256
		}
		for _, f := range spec.Files {
			if err := b.addProgram(doc, f); err != nil {
				return err
			}
		}
	}
	content, err := doc.JSON()
	if err != nil {
		return err
	}
	return b.file("sbom/image-"+name+".spdx.json", content)
}

// addProgram adds a file of an image, with its modules if it is a program.
func (b *build) addProgram(doc *spdx.Document, f image.File) error {
	digest, err := sum(f.Source)
	if err != nil {
		return err
	}
	part := spdx.Program(filepath.Base(f.Path), b.version, digest)
	info, err := buildinfo.ReadFile(f.Source)
	if err != nil { // a script or a configuration file
		doc.Add(doc.Subject(), part)
		return nil
	}
	doc.AddProgram(doc.Subject(), part, info)
	return nil
}

func (b *build) namespace(of string) string {
	return repository + "/releases/" + b.version + "/" + of + "/" + b.commit
}

// manifests writes the manifests that install the operator, and the list of images.
func (b *build) manifests(context.Context) error {
	set := release.Set{Prefix: release.DefaultPrefix, Version: b.version, Digests: b.digests}
	objects, err := release.Manifests(set, 2)
	if err != nil {
		return err
	}
	content, err := release.Encode(objects)
	if err != nil {
		return err
	}
	if err := b.file("install.yaml", content); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(b.digests)) {
		fmt.Fprintln(&list, set.Reference(name))
	}
	if err := b.file("images.txt", list.Bytes()); err != nil {
		return err
	}
	if err := b.charts(set); err != nil {
		return err
	}
	return b.bundle(set)
}

// charts packs the Helm charts.
func (b *build) charts(set release.Set) error {
	for _, name := range chart.Names() {
		files, err := chart.Files(name, set)
		if err != nil {
			return err
		}
		if err := b.pack(name, files); err != nil {
			return err
		}
	}
	return nil
}

// bundle packs the bundle for Operator Lifecycle Manager, and writes the objects that OLM does not create.
func (b *build) bundle(set release.Set) error {
	r := olm.Release{Images: set, Created: b.date, Repository: repository}
	files, err := r.Files()
	if err != nil {
		return err
	}
	if err := b.pack("olm-bundle", files); err != nil {
		return err
	}
	prerequisites, err := r.Prerequisites()
	if err != nil {
		return err
	}
	content, err := release.Encode(prerequisites)
	if err != nil {
		return err
	}
	return b.file("olm-prerequisites.yaml", content)
}

// pack creates an archive of files in a directory with the archive's name.
func (b *build) pack(name string, files map[string][]byte) error {
	var list []packed
	for _, file := range slices.Sorted(maps.Keys(files)) {
		source := filepath.Join(b.work, "packed", name, file)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, files[file], 0o644); err != nil {
			return err
		}
		list = append(list, packed{name: name + "/" + file, source: source, mode: 0o644})
	}
	return b.tarball(name+"-"+strings.TrimPrefix(b.version, "v")+".tgz", list)
}

// documents writes the bills of materials of programs, the krew manifest, the provenance, and the sums of all.
func (b *build) documents(context.Context) error {
	if err := b.programBills(); err != nil {
		return err
	}
	var platforms []krew.Platform
	for _, p := range b.platforms() {
		platforms = append(platforms, krew.Platform{OS: p.os, Arch: p.arch, URI: b.url + "/" + b.archive(p), SHA256: b.sums[b.archive(p)], Program: p.program()})
	}
	manifest, err := krew.Manifest(b.version, repository, platforms)
	if err != nil {
		return err
	}
	if err := b.file("cno.krew.yaml", manifest); err != nil {
		return err
	}
	var inputs []provenance.Resource
	for uri, digest := range b.inputs {
		inputs = append(inputs, provenance.Resource{URI: uri, Digest: map[string]string{"sha256": digest}})
	}
	record, err := provenance.New(provenance.Build{
		Version: b.version, Source: repository, Commit: b.commit, Go: runtime.Version(), Inputs: inputs, Files: b.sums,
	}).JSON()
	if err != nil {
		return err
	}
	if err := b.file("provenance.intoto.json", record); err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.sums)) {
		fmt.Fprintf(&list, "%s  %s\n", b.sums[name], name)
	}
	return b.file("SHA256SUMS", []byte(list.String()))
}

// programBills writes a bill for each program of each platform.
func (b *build) programBills() error {
	for _, pattern := range []string{"linux/*/*", "darwin/*/*", "windows/*/*"} {
		paths, err := filepath.Glob(filepath.Join(b.work, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := b.programBill(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *build) programBill(path string) error {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() { // names under which kubectl finds cno
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	digest, err := sum(path)
	if err != nil {
		return err
	}
	rest, arch := filepath.Split(filepath.Dir(path))
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	of := fmt.Sprintf("%s_%s_%s", name, filepath.Base(rest), arch)
	doc := spdx.New(spdx.Program(name, b.version, digest), b.namespace(of), b.date)
	doc.AddModules(info)
	content, err := doc.JSON()
	if err != nil {
		return err
	}
	return b.file("sbom/program-"+of+".spdx.json", content)
}

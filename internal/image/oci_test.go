package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// unpack unpacks an archive to a directory, as tools that read OCI layouts do.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// twoArchitectures builds an index of an image with one file of each architecture.
func twoArchitectures(t *testing.T) (string, v1.Hash) {
	t.Helper()
	var specs []Spec
	for _, arch := range []string{"amd64", "arm64"} {
		specs = append(specs, Spec{Reference: "localhost/cno/x:v1", Arch: arch, User: "65534",
			Files: []File{{Source: program(t, "for "+arch), Path: "/bin/hello", Mode: 0o755}}})
	}
	out := filepath.Join(t.TempDir(), "x.tar")
	digest, err := Builder{}.BuildIndex(t.Context(), specs, map[string]string{"org.opencontainers.image.version": "v1"}, out)
	if err != nil {
		t.Fatal(err)
	}
	return out, digest
}

func TestAnOCIArchiveHasOneImageOfEachArchitecture(t *testing.T) {
	archive, digest := twoArchitectures(t)
	root, err := layout.ImageIndexFromPath(unpack(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	// Every digest, size and media type is that of the content.
	if err := validate.Index(root); err != nil {
		t.Error(err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	want := []v1.Descriptor{{MediaType: types.OCIImageIndex, Digest: digest, Size: manifest.Manifests[0].Size,
		Annotations: map[string]string{annotationRef: "v1", annotationContainerd: "localhost/cno/x:v1"}}}
	if diff := cmp.Diff(want, manifest.Manifests); diff != "" {
		t.Fatal(diff)
	}
	index, err := root.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if images.Annotations["org.opencontainers.image.version"] != "v1" {
		t.Errorf("the annotations are %v", images.Annotations)
	}
	var archs []string
	for _, d := range images.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != d.Platform.Architecture || d.MediaType != types.OCIManifestSchema1 {
			t.Errorf("the image for %s is one for %s, of type %s", d.Platform, config.Architecture, d.MediaType)
		}
		// Older tools drop fields of descriptors that they do not know, and the digest of the copied index is another one.
		if len(d.Annotations) > 0 || d.ArtifactType != "" || len(d.URLs) > 0 || len(d.Data) > 0 {
			t.Errorf("%s: the descriptor has more than a platform: %+v", d.Platform, d)
		}
		archs = append(archs, config.Architecture)
		if got := headers(t, img)["usr/bin/hello"]; got != "-rwxr-xr-x" {
			t.Errorf("%s: the program is %q", d.Platform, got)
		}
	}
	if diff := cmp.Diff([]string{"amd64", "arm64"}, archs); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameInputsGiveTheSameOCIArchive(t *testing.T) {
	first, digest := twoArchitectures(t)
	second, again := twoArchitectures(t)
	a, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if digest != again || !bytes.Equal(a, b) {
		t.Errorf("the two archives differ: %s and %s", digest, again)
	}
}

func TestPackagesOfAnImageAreListedWithTheirSums(t *testing.T) {
	repo := newRepository(t)
	repo.add("iptables", "1.8", "libxtables", "usr/sbin/iptables")
	repo.add("libxtables", "1:2", "", "usr/lib/libxtables.so")
	got, err := Builder{Cache: t.TempDir()}.Packages(t.Context(), runtime.GOARCH, []string{"iptables"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if len(got[i].SHA256) != 64 {
			t.Errorf("%s: the sum is %q", got[i].Name, got[i].SHA256)
		}
		got[i].SHA256 = ""
	}
	want := []Package{
		{Name: "iptables", Version: "1.8", Arch: "all", Maintainer: "none <none@example.com>"},
		{Name: "libxtables", Version: "1:2", Arch: "all", Maintainer: "none <none@example.com>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package image

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	imagebuild "github.com/cluster-network-operator/cno/internal/image"
)

func TestReadArchive(t *testing.T) {
	const one = `[{"Config":"sha256:aa","RepoTags":["a:1","b:1"]}]`
	const nameless = `[{"Config":"sha256:aa","RepoTags":null}]`
	tests := map[string]struct {
		files map[string]string
		want  Archive
		fails string
	}{
		"names and digest":         {map[string]string{"manifest.json": one}, Archive{References: []string{"a:1", "b:1"}, Digest: "sha256:aa "}, ""},
		"an image without a name":  {map[string]string{"manifest.json": nameless}, Archive{}, "has no name"},
		"a tar of something else":  {map[string]string{"README": "hello"}, Archive{}, "not a docker-archive"},
		"a manifest that is wrong": {map[string]string{"manifest.json": "{"}, Archive{}, "unexpected EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeTar(t, tt.files)
			got, err := ReadArchive(path)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || !strings.Contains(err.Error(), path) {
					t.Errorf("error %v, want %q and the path", err, tt.fails)
				}
				return
			}
			tt.want.Path = path
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestBuiltImageCanBeReadAndIsBuiltOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	img := Image{Name: "tiny", Spec: imagebuild.Spec{
		Reference: "registry.k8s.io/tiny:1", Files: []imagebuild.File{{Source: program, Path: "/program"}},
	}}
	var out strings.Builder
	b := Builder{Cache: t.TempDir(), Out: &out}
	var paths []string
	// Several labs may build at the same time.
	var builds errgroup.Group
	for range 4 {
		builds.Go(func() error {
			_, err := b.Build(t.Context(), []Image{img})
			return err
		})
	}
	err := builds.Wait()
	if err == nil {
		paths, err = b.Build(t.Context(), []Image{img})
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := "[1/1] image registry.k8s.io/tiny:1\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
	a, err := ReadArchive(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{img.Spec.Reference}, a.References); diff != "" {
		t.Error(diff)
	}
}

// The suite of Kubernetes 1.36 uses these names.
func TestImagesHaveTheNamesTestsAskFor(t *testing.T) {
	var got []string
	s := Sources{Bin: "/bin", Agnhost: "/agnhost"}
	for _, img := range append(Default(s), Conformance(s)...) {
		got = append(got, img.Spec.Reference)
	}
	want := []string{
		"registry.k8s.io/pause:3.10.2",
		"registry.k8s.io/coredns/coredns:v1.15.0",
		"registry.k8s.io/e2e-test-images/agnhost:2.63.0",
		"registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
		"registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0",
		"registry.k8s.io/e2e-test-images/regression-issue-74839:1.4",
		"registry.k8s.io/e2e-test-images/nginx:1.15-4",
		"registry.k8s.io/build-image/distroless-iptables:v0.9.6",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func writeTar(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

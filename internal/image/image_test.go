package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program writes a file to stand for a program.
func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func build(t *testing.T, b Builder, spec Spec) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := b.Build(t.Context(), spec, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// headers reads the entries of all layers, as "mode name -> link".
func headers(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uname != "" {
				t.Errorf("%s: time %v, owner %q", h.Name, h.ModTime, h.Uname)
			}
			got[h.Name] = strings.TrimSuffix(h.FileInfo().Mode().String()+" -> "+h.Linkname, " -> ")
		}
	}
	return got
}

func TestImagesAreReadByOtherTools(t *testing.T) {
	out := build(t, Builder{}, Spec{
		Reference: "localhost/cno/x:v1",
		Files: []File{
			{Source: program(t, "hello"), Path: "/bin/hello", Mode: 0o755},
			{Path: "/tmp/a/link", Link: "../b"},
			{Path: "/var/lib/x", Dir: true, Mode: 0o700},
		},
		Entrypoint: []string{"/bin/hello"}, Env: []string{"A=b"}, User: "65534", WorkingDir: "/tmp",
	})
	img, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/bin/hello"}, Env: []string{"A=b", defaultPath}, User: "65534", WorkingDir: "/tmp"}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}
	wantFiles := map[string]string{
		"tmp/": "dtrwxrwxrwx", "tmp/a/": "drwxr-xr-x", "tmp/a/link": "Lrwxrwxrwx -> ../b",
		"usr/": "drwxr-xr-x", "usr/bin/": "drwxr-xr-x", "usr/bin/hello": "-rwxr-xr-x",
		"var/": "drwxr-xr-x", "var/lib/": "drwxr-xr-x", "var/lib/x/": "drwx------",
	}
	if diff := cmp.Diff(wantFiles, headers(t, img)); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(out + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	spec := Spec{Reference: "localhost/cno/x:v1"}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		spec.Files = append(spec.Files, File{Source: program(t, name), Path: "/usr/bin/" + name})
	}
	first, err := os.ReadFile(build(t, Builder{}, spec))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(spec.Files[0].Source, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(build(t, Builder{}, spec))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the two archives differ")
	}
}

func TestAllErrorsAreReportedAtOnce(t *testing.T) {
	out := filepath.Join(t.TempDir(), "image.tar")
	err := Builder{}.Build(t.Context(), Spec{Reference: "localhost/cno/x:v1", Files: []File{
		{Source: "/nonexistent/program", Path: "/usr/bin/program"},
		{Path: "relative", Link: "/x"},
		{Path: "/nothing"},
		{Path: "/directory", Source: t.TempDir()},
		{Path: "/both", Link: "/x", Dir: true},
	}}, out)
	for _, want := range []string{"/nonexistent/program: no such file", `"relative"`, `"/nothing"`, "not a regular file", `"/both"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error: %v", want, err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an archive was written")
	}
	if err := (Builder{}).Build(t.Context(), Spec{Reference: "No Reference"}, out); err == nil {
		t.Error("a bad reference was accepted")
	}
}

func TestCacheDirectoryComesFromTheEnvironment(t *testing.T) {
	env := map[string]string{"HOME": "/home/u"}
	getenv := func(k string) string { return env[k] }
	for _, step := range []struct{ key, value, want string }{
		{"", "", "/home/u/.cache/cno"},
		{"XDG_CACHE_HOME", "/caches", "/caches/cno"},
		{"CNO_CACHE", "/own", "/own"},
	} {
		env[step.key] = step.value
		if got := DefaultCache(getenv); got != step.want {
			t.Errorf("with %s=%s: %s, want %s", step.key, step.value, got, step.want)
		}
	}
}

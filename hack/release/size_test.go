package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cluster-network-operator/cno/internal/image"
)

// BenchmarkSize measures cno, and the content of the operator's image, which has no base: as they are on a disk, and as they are downloaded,
// compressed as the archives and layers of a release are.
func BenchmarkSize(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	programs := b.TempDir()
	in := image.Inputs{Programs: programs, Images: filepath.Join(root, "images"), Version: "v0.0.0", Arch: runtime.GOARCH}
	definition, err := in.Definition("cluster-network-operator")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		buildPrograms(b.Context(), b, root, programs)
		var content []string
		for _, f := range definition.Spec(in).Files {
			content = append(content, f.Source)
		}
		for of, files := range map[string][]string{"cno": {filepath.Join(programs, "cno")}, "image": content} {
			whole, downloaded := sizes(b, files)
			b.ReportMetric(megabytes(whole), of+"-MB")
			b.ReportMetric(megabytes(downloaded), of+"-download-MB")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// buildPrograms builds the programs as a release does.
func buildPrograms(ctx context.Context, b *testing.B, root, out string) {
	b.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "build-go.sh"), "cno", "cluster-network-operator")
	cmd.Env = append(os.Environ(), "GOOS=linux", "OUT="+out, "VERSION=v0.0.0", "GOFLAGS=-buildvcs=false")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
}

// sizes are the size of files, and that of one stream of gzip of all of them.
func sizes(b *testing.B, files []string) (whole, downloaded int64) {
	b.Helper()
	var out counter
	w := gzip.NewWriter(&out)
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(w, in)
		_ = in.Close()
		if err != nil {
			b.Fatal(err)
		}
		whole += n
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return whole, int64(out)
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

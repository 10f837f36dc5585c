package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
)

// BenchmarkSize measures what users download: cno, and the content of the operator's image, which has no base.
func BenchmarkSize(b *testing.B) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		b.Fatal(err)
	}
	programs := b.TempDir()
	in := image.Inputs{Programs: programs, Components: assets.Dir(b, "etcdutl"), Images: filepath.Join(root, "images"), Version: "v0.0.0", Arch: runtime.GOARCH}
	definition, err := in.Definition("cluster-network-operator")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		buildPrograms(b.Context(), b, root, programs)
		var content int64
		for _, f := range definition.Spec(in).Files {
			content += size(b, f.Source)
		}
		b.ReportMetric(megabytes(size(b, filepath.Join(programs, "cno"))), "cno-MB")
		b.ReportMetric(megabytes(content), "image-MB")
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

func size(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// Command mkimages builds the images of images/, all or the given ones, as docker-archive tars, without a container engine or a
// registry. The binaries must have been built before.
//
//	go run ./hack/mkimages [-root DIR] [-components DIR] [-version TAG] [NAME...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	components := flag.String("components", "", "directory of the programs of other modules (default ROOT/_output/lab/bin)")
	tag := flag.String("version", version.String(), "tag of the images")
	flag.Parse()
	if *components == "" {
		*components = filepath.Join(*root, "_output", "lab", "bin")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	inputs := image.Inputs{
		Programs:   filepath.Join(*root, "_output", "linux", runtime.GOARCH),
		Components: *components,
		Images:     filepath.Join(*root, "images"),
		Version:    *tag,
	}
	err := run(ctx, *root, inputs, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkimages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, inputs image.Inputs, names []string) error {
	if len(names) == 0 {
		entries, err := os.ReadDir(filepath.Join(root, "images"))
		if err != nil {
			return err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	out := filepath.Join(root, "_output", "images")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	start := time.Now()
	for i, name := range names {
		step := func(s string) {
			fmt.Printf("[%d/%d %4.1fs] %s: %s\n", i+1, len(names), time.Since(start).Seconds(), name, s)
		}
		builder := image.Builder{Cache: image.DefaultCache(os.Getenv), Progress: step}
		if err := build(ctx, builder, inputs, name, filepath.Join(out, name+".tar")); err != nil {
			return err
		}
		step("done")
	}
	return nil
}

func build(ctx context.Context, b image.Builder, inputs image.Inputs, name, out string) error {
	definition, err := inputs.Definition(name)
	if err != nil {
		return err
	}
	err = b.Build(ctx, definition.Spec(inputs), out)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; \"make images\" builds the programs first", err)
	}
	return err
}

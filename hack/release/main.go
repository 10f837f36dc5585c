// Command release builds all files of a release into one directory. The same commit, Debian packages and
// Go release give the same bytes, wherever the checkout is.
//
//	go run ./hack/release -version v0.2.0 [-out DIR] [-url BASE] [-dirty] [-only IMAGE,...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/release"
)

// repository is the URL of the sources in the metadata of a release.
const repository = "https://github.com/cluster-network-operator/cno"

// architectures are those of nodes.
var architectures = []string{"amd64", "arm64"}

func main() {
	version := flag.String("version", "", "version of the release, for example v0.2.0")
	out := flag.String("out", "", "directory of the release (default _output/release/VERSION)")
	url := flag.String("url", "", "where the files of the release will be downloaded from, for the krew manifest (default: the repository's releases)")
	dirty := flag.Bool("dirty", false, "build files that are not committed, too; what is built is not reproducible")
	only := flag.String("only", "", "to try out the build: only these images, separated by commas, with the programs in them, and cno for this machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *version, *out, *url, *only, *dirty)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version, out, url, only string, dirty bool) error {
	if err := release.CheckVersion(version); err != nil {
		return err
	}
	b := &build{version: version, out: out, url: url, start: time.Now(), sums: map[string]string{}, inputs: map[string]string{}}
	if only != "" {
		b.only = strings.Split(only, ",")
	}
	if b.out == "" {
		b.out = filepath.Join("_output", "release", version)
	}
	if b.url == "" {
		b.url = repository + "/releases/download/" + version
	}
	if err := b.source(ctx, dirty); err != nil {
		return err
	}
	var err error
	if b.out, err = filepath.Abs(b.out); err != nil {
		return err
	}
	if err := os.RemoveAll(b.out); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp(filepath.Dir(b.out), ".building-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"programs", b.programs}, {"images", b.images}, {"cno", b.cno}, {"manifests", b.manifests}, {"documents", b.documents},
	} {
		b.progress(step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	b.progress("done: " + b.out)
	return nil
}

// build is one run of the command.
type build struct {
	version, out, url string
	// commit is the commit to build, date its time.
	commit string
	date   time.Time
	// only are the images to build; none means all, with all programs.
	only []string
	// work is the directory of files that are not part of the release.
	work  string
	start time.Time
	// builder builds images. digests are those of the images by name.
	builder image.Builder
	digests map[string]string
	// sums are the SHA-256 sums of the release's files by name, inputs those of the Debian packages by package URL.
	sums, inputs map[string]string
}

func (b *build) progress(what string) {
	fmt.Printf("[%5.1fs] %s\n", time.Since(b.start).Seconds(), what)
}

// source determines the commit to build. Uncommitted changes are an error, because a release names a commit.
func (b *build) source(ctx context.Context, dirty bool) error {
	changes, err := b.output(ctx, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" && !dirty {
		return errors.New("there are changes that are not committed: commit them, since a release is built from a commit")
	}
	text, err := b.output(ctx, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscanf(text, "%s %d", &b.commit, &seconds); err != nil {
		return fmt.Errorf("read the commit: %w", err)
	}
	b.date = time.Unix(seconds, 0).UTC()
	return nil
}

// output runs a program and returns what it prints. Variables are added to the environment.
func (b *build) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

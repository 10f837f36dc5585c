package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
	imagebuild "github.com/cluster-network-operator/cno/internal/image"
)

// keyLength is the length of the prefix of a hash that distinguishes the builds of an image.
const keyLength = 12

// Builder builds images into the cache.
type Builder struct {
	// Cache is the directory of built programs and images.
	Cache string
	// Out receives a line for each image that has to be built; nil discards them.
	Out io.Writer
}

// Build returns the paths of the images' archives, building what is missing.
func (b Builder) Build(ctx context.Context, images []Image) ([]string, error) {
	var paths []string
	for i, img := range images {
		key, err := specKey(img.Spec)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(b.Cache, "images", fmt.Sprintf("%s-%s.tar", img.Name, key))
		paths = append(paths, path)
		if err := b.build(ctx, img.Spec, path, fmt.Sprintf("[%d/%d]", i+1, len(images))); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// build writes the archive unless it exists. Concurrent processes build it once.
func (b Builder) build(ctx context.Context, spec imagebuild.Spec, path, step string) error {
	unlock, err := filelock.Acquire(ctx, filepath.Join(b.Cache, "locks", filepath.Base(path)))
	if err != nil {
		return fmt.Errorf("build image %s: %w", spec.Reference, err)
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if b.Out != nil {
		fmt.Fprintf(b.Out, "%s image %s\n", step, spec.Reference)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the image cache: %w", err)
	}
	builder := imagebuild.Builder{Cache: b.Cache}
	return builder.Build(ctx, spec, path)
}

// specKey returns a hash of an image's description, in which programs have the
// target of their link: the name in the cache depends on all inputs of the build.
func specKey(s imagebuild.Spec) (string, error) {
	files := make([]imagebuild.File, len(s.Files))
	for i, f := range s.Files {
		if f.Source != "" {
			real, err := filepath.EvalSymlinks(f.Source)
			if err != nil {
				return "", fmt.Errorf("find a part of image %s: %w", s.Reference, err)
			}
			f.Source = real
		}
		files[i] = f
	}
	s.Files = files
	data, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("identify image %s: %w", s.Reference, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:keyLength], nil
}

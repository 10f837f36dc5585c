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

// keyLength is enough of a hash to tell the few builds of one image apart.
const keyLength = 12

// Builder builds images into the cache.
type Builder struct {
	// Cache is the directory that programs and images are kept in.
	Cache string
	// Out takes a line an image that has to be built; nil means no one looks.
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

// build writes the archive unless it is there. Two processes that ask at the same time build once.
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

// specKey identifies an image by its description, with programs named by what
// their links point to: the cache names builds by all that goes into them.
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

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
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if b.Out != nil {
			fmt.Fprintf(b.Out, "[%d/%d] image %s\n", i+1, len(images), img.Spec.Reference)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("create the image cache: %w", err)
		}
		builder := imagebuild.Builder{Cache: b.Cache}
		if err := builder.Build(ctx, img.Spec, path); err != nil {
			return nil, err
		}
	}
	return paths, nil
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

package image

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// defaultPath is the PATH of an image that does not set one.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// writeArchive writes the docker-archive: configuration, layers, manifest.json.
func writeArchive(spec Spec, layers []layer, outPath string) error {
	tag, err := name.NewTag(spec.Reference, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("parse the reference: %w", err)
	}
	img, err := assemble(spec, empty.Image, layers)
	if err != nil {
		return err
	}
	partial := outPath + ".partial"
	defer os.Remove(partial)
	if err := tarball.WriteToFile(partial, tag, img); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return os.Rename(partial, outPath)
}

// assemble makes an image of a configuration and layers. The base determines the media types.
func assemble[L v1.Layer](spec Spec, base v1.Image, layers []L) (v1.Image, error) {
	img, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: spec.arch(),
		OS:           "linux",
		Created:      v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: spec.Entrypoint, Cmd: spec.Cmd, Env: withPath(spec.Env),
			User: spec.User, WorkingDir: spec.WorkingDir,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	for _, l := range layers {
		if img, err = mutate.AppendLayers(img, l); err != nil {
			return nil, fmt.Errorf("append a layer: %w", err)
		}
	}
	return img, nil
}

func withPath(env []string) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		return env
	}
	return append(slices.Clone(env), defaultPath)
}

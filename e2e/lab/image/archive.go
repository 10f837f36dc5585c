package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Archive describes a docker-archive for loading it.
type Archive struct {
	Path string
	// References are the names of the images in the archive.
	References []string
	// Digest identifies the archive's images: it consists of the digests of
	// their configurations, which cover the layers.
	Digest string
}

// manifestEntry is an element of manifest.json in a docker-archive.
type manifestEntry struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
}

// ReadArchive reads the manifest of an archive.
func ReadArchive(path string) (Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return Archive{}, fmt.Errorf("open an image: %w", err)
	}
	defer f.Close()
	a := Archive{Path: path}
	entries, err := readManifest(f)
	if err != nil {
		return a, fmt.Errorf("read image %s: %w", path, err)
	}
	for _, e := range entries {
		a.References = append(a.References, e.RepoTags...)
		a.Digest += e.Config + " "
	}
	if len(a.References) == 0 {
		return a, fmt.Errorf("image %s has no name: build it with a reference", path)
	}
	return a, nil
}

func readManifest(f io.Reader) ([]manifestEntry, error) {
	files := tar.NewReader(f)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no manifest.json in it: it is not a docker-archive")
		}
		if err != nil {
			return nil, err
		}
		if h.Name == "manifest.json" {
			var entries []manifestEntry
			return entries, json.NewDecoder(files).Decode(&entries)
		}
	}
}

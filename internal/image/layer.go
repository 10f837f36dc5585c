package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is an uncompressed tar on disk. It is left uncompressed since images are built to be imported on
// the same machine, where compression only costs time.
type layer struct {
	path string
	hash v1.Hash
	size int64
}

var _ v1.Layer = layer{}

// layer writes the tree to a file.
func (t tree) layer(ctx context.Context, path string) (layer, error) {
	f, err := os.Create(path)
	if err != nil {
		return layer{}, err
	}
	err = t.write(ctx, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return layer{}, err
	}
	return openLayer(path)
}

// openLayer takes a tar that is there already.
func openLayer(path string) (layer, error) {
	f, err := os.Open(path)
	if err != nil {
		return layer{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return layer{}, err
	}
	return layer{path: path, size: size, hash: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}}, nil
}

func (l layer) remove() { _ = os.Remove(l.path) }

// Digest, DiffID and the rest make a v1.Layer of it.
func (l layer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l layer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l layer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l layer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l layer) Size() (int64, error)                 { return l.size, nil }
func (l layer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations by which tools find the reference of an image in an archive: that of the OCI, and that of containerd.
const (
	annotationRef        = "org.opencontainers.image.ref.name"
	annotationContainerd = "io.containerd.image.name"
)

// BuildIndex writes an OCI archive that contains one image for each of several architectures, replacing what is at outPath
// once all of it is written. It returns the digest of the index, by which a registry has the image after it was copied there.
// The specs have the same reference. Annotations are those of the index; layers are compressed.
func (b Builder) BuildIndex(ctx context.Context, specs []Spec, annotations map[string]string, outPath string) (v1.Hash, error) {
	if len(specs) == 0 {
		return v1.Hash{}, fmt.Errorf("build %s: there is no image to write", outPath)
	}
	digest, err := b.buildIndex(ctx, specs, annotations, outPath)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("build image %s: %w", specs[0].Reference, err)
	}
	return digest, nil
}

func (b Builder) buildIndex(ctx context.Context, specs []Spec, annotations map[string]string, outPath string) (v1.Hash, error) {
	tag, err := name.NewTag(specs[0].Reference, name.StrictValidation)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("parse the reference: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	work, err := os.MkdirTemp("", "oci-image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(work)
	for _, spec := range specs {
		img, err := b.ociImage(ctx, spec, work)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("architecture %s: %w", spec.arch(), err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: untyped{img}, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: spec.arch()}},
		})
	}
	if len(annotations) > 0 {
		index = mutate.Annotations(index, annotations).(v1.ImageIndex)
	}
	partial := outPath + ".partial"
	defer os.Remove(partial)
	if err := writeOCI(partial, index, tag); err != nil {
		return v1.Hash{}, fmt.Errorf("write the archive: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	return digest, os.Rename(partial, outPath)
}

// untyped is an image whose descriptor in an index has no artifactType, which the library sets to the media type of its configuration. Tools that
// do not know this field, such as skopeo 1.9 of Debian 12, drop it when they copy an index, and so change its digest.
type untyped struct{ v1.Image }

// ArtifactType returns an empty string.
func (untyped) ArtifactType() (string, error) { return "", nil }

// ociImage is the image of one architecture, with compressed layers in directory work.
func (b Builder) ociImage(ctx context.Context, spec Spec, work string) (v1.Image, error) {
	plain, remove, err := b.layers(ctx, spec, work+"/"+spec.arch()+".tar")
	defer remove()
	if err != nil {
		return nil, err
	}
	var layers []compressed
	for i, l := range plain {
		c, err := compress(l, fmt.Sprintf("%s/%s-%d.tar.gz", work, spec.arch(), i))
		if err != nil {
			return nil, fmt.Errorf("compress a layer: %w", err)
		}
		layers = append(layers, c)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return assemble(spec, base, layers)
}

// compressed is a layer whose compressed form is on disk, too.
type compressed struct {
	layer
	gzip   string
	digest v1.Hash
	length int64
}

var _ v1.Layer = compressed{}

// compress compresses a layer to a file. The header of gzip has neither name nor time.
func compress(l layer, path string) (compressed, error) {
	in, err := l.Uncompressed()
	if err != nil {
		return compressed{}, err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return compressed{}, err
	}
	defer out.Close()
	sum := sha256.New()
	w := gzip.NewWriter(io.MultiWriter(out, sum))
	if _, err := io.Copy(w, in); err != nil {
		return compressed{}, err
	}
	if err := w.Close(); err != nil {
		return compressed{}, err
	}
	length, err := out.Seek(0, io.SeekCurrent)
	return compressed{layer: l, gzip: path, length: length, digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}}, err
}

// Digest and the rest are those of the compressed form.
func (c compressed) Digest() (v1.Hash, error)            { return c.digest, nil }
func (c compressed) Compressed() (io.ReadCloser, error)  { return os.Open(c.gzip) }
func (c compressed) Size() (int64, error)                { return c.length, nil }
func (c compressed) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// blob is a file of an archive.
type blob struct {
	size int64
	open func() (io.ReadCloser, error)
}

func text(content []byte) blob {
	return blob{size: int64(len(content)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// writeOCI writes an OCI layout as a tar, with its files sorted by name.
func writeOCI(path string, index v1.ImageIndex, tag name.Tag) error {
	files := map[string]blob{"oci-layout": text([]byte(`{"imageLayoutVersion":"1.0.0"}`))}
	if err := addIndex(files, index); err != nil {
		return err
	}
	root, err := rootIndex(index, tag)
	if err != nil {
		return err
	}
	files["index.json"] = text(root)
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	tw := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := files[name].write(tw, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return out.Close()
}

func (b blob) write(tw *tar.Writer, name string) error {
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: b.size, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(tw, r)
	return err
}

// rootIndex is index.json: one entry, the index of all architectures, with its reference.
func rootIndex(index v1.ImageIndex, tag name.Tag) ([]byte, error) {
	digest, err := index.Digest()
	if err != nil {
		return nil, err
	}
	size, err := index.Size()
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{{
		MediaType: types.OCIImageIndex, Digest: digest, Size: size,
		Annotations: map[string]string{annotationRef: tag.TagStr(), annotationContainerd: tag.Name()},
	}}})
}

// addIndex adds the index and all that it refers to.
func addIndex(files map[string]blob, index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	raw, err := index.RawManifest()
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	files[blobPath(digest)] = text(raw)
	for _, d := range manifest.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		if err := addImage(files, d.Digest, img); err != nil {
			return err
		}
	}
	return nil
}

func addImage(files map[string]blob, digest v1.Hash, img v1.Image) error {
	raw, err := img.RawManifest()
	if err != nil {
		return err
	}
	files[blobPath(digest)] = text(raw)
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	files[blobPath(manifest.Config.Digest)] = text(config)
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for i, l := range layers {
		files[blobPath(manifest.Layers[i].Digest)] = blob{size: manifest.Layers[i].Size, open: l.Compressed}
	}
	return nil
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/output"
)

// directory is what everything in the archive lies in.
const directory = "cno-doctor/"

// archive writes everything as a tar.gz: the report, objects by namespace and resource, an object a line, and logs.
func (f *collected) archive(w io.Writer, r report) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	add := func(name string, content []byte) error {
		if err := out.WriteHeader(&tar.Header{Name: directory + name, Mode: 0o600, Size: int64(len(content)), ModTime: r.Time}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_, err := out.Write(content)
		return err
	}
	var text, data bytes.Buffer
	if err := r.print(&text); err != nil {
		return err
	}
	if err := output.JSON.Write(&data, r); err != nil {
		return err
	}
	files := map[string][]byte{"report.txt": text.Bytes(), "report.json": data.Bytes()}
	maps.Copy(files, f.logs)
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if files["objects/"+strings.TrimSuffix(name, ".")+".jsonl"], err = encoded(f.objects[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(name, files[name]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

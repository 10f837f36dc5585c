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

// The names of files in the archive. Objects are in files of JSON lines below Objects, by namespace and resource.
const (
	// Directory is the directory of all files.
	Directory = "cno-doctor/"
	// ReportFile is the Report as JSON.
	ReportFile = Directory + "report.json"
	// Objects is the directory of objects, and ObjectsExtension the extension of its files: objects/NAMESPACE/RESOURCE.jsonl, and
	// objects/RESOURCE.GROUP.jsonl without a namespace.
	Objects          = Directory + "objects/"
	ObjectsExtension = ".jsonl"
)

// archive writes a tar.gz with the report, objects by namespace and resource, one object per line, and logs.
func (f *collected) archive(w io.Writer, r Report) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	add := func(name string, content []byte) error {
		if err := out.WriteHeader(&tar.Header{Name: Directory + name, Mode: 0o600, Size: int64(len(content)), ModTime: r.Time}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_, err := out.Write(content)
		return err
	}
	files, err := r.files()
	if err != nil {
		return err
	}
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

// files returns the report as text and as JSON.
func (r Report) files() (map[string][]byte, error) {
	var text, data bytes.Buffer
	if err := r.print(&text); err != nil {
		return nil, err
	}
	if err := output.JSON.Write(&data, r); err != nil {
		return nil, err
	}
	return map[string][]byte{"report.txt": text.Bytes(), "report.json": data.Bytes()}, nil
}

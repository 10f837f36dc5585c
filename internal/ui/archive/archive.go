// Package archive reads an archive of cno doctor, which is untrusted input: it writes nothing to disk, uses no name of the archive as a
// local path, and limits the memory for all content.
package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cli/doctor"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
)

// The limits of an archive. That of a cluster with 5,000 nodes stays below a tenth of each.
const (
	maxFiles  = 10_000
	maxFile   = 256 << 20
	maxTotal  = 1 << 30
	maxLine   = 4 << 20
	maxObject = 500_000
)

// Errors of archives, each wrapped with the file.
var (
	// ErrDamaged is the error of a truncated or invalid archive.
	ErrDamaged = errors.New("this is not a complete archive of cno doctor")
	// ErrHostile is the error of an archive that cno doctor cannot have written.
	ErrHostile = errors.New("the archive is refused: cno doctor does not write archives with such content")
)

// Archive is the content of an archive of cno doctor.
type Archive struct {
	Objects *objects.Set
	Report  doctor.Report
	// Namespace is that of the operator, according to its objects.
	Namespace string
	// Unread are sentences about objects that could not be read.
	Unread []string
}

// Open reads a file.
func Open(name string) (*Archive, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read archive %s: it is not a regular file", name)
	}
	a, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read archive %s: %w", name, err)
	}
	return a, nil
}

// reader reads one archive.
type reader struct {
	out     *Archive
	scheme  *runtime.Scheme
	files   int
	objects int
	// unread counts the objects that could not be read, by cause.
	unread map[string]int
	report bool
}

// Read reads an archive. The error wraps ErrDamaged or ErrHostile.
func Read(in io.Reader) (*Archive, error) {
	scheme, err := objects.Scheme()
	if err != nil {
		return nil, err
	}
	compressed, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	r := &reader{out: &Archive{Objects: objects.NewSet(scheme), Namespace: status.OperatorNamespace}, scheme: scheme, unread: map[string]int{}}
	limited := &limit{from: compressed, left: maxTotal}
	for files := tar.NewReader(limited); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := r.next(header, files, err); err != nil {
			return nil, err
		}
	}
	// Data after the last file is only read for the checksum.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, fault("its end", err)
	}
	if !r.report {
		return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, doctor.ReportFile)
	}
	for _, why := range slices.Sorted(maps.Keys(r.unread)) {
		n := r.unread[why]
		r.out.Unread = append(r.out.Unread, fmt.Sprintf("%d objects could not be read: %s", n, why))
	}
	return r.out, nil
}

// next reads one file of the archive.
func (r *reader) next(header *tar.Header, content io.Reader, err error) error {
	switch {
	case errors.Is(err, ErrHostile):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.files++; r.files > maxFiles {
		return fmt.Errorf("%w: it has more than %d files", ErrHostile, maxFiles)
	}
	if err := checkHeader(header); err != nil {
		return err
	}
	switch {
	case header.Name == doctor.ReportFile:
		return r.readReport(content)
	case strings.HasPrefix(header.Name, doctor.Objects) && strings.HasSuffix(header.Name, doctor.ObjectsExtension):
		return r.readObjects(header.Name, content)
	}
	return nil // logs are not shown
}

// checkHeader refuses entries that cno doctor never writes: links, devices, and names outside of the archive's directory.
func checkHeader(h *tar.Header) error {
	switch {
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%w: %q is not a regular file", ErrHostile, h.Name)
	case path.Clean(h.Name) != h.Name || !strings.HasPrefix(h.Name, doctor.Directory) || strings.ContainsAny(h.Name, "\\\x00"):
		return fmt.Errorf("%w: the name %q is not one below %s", ErrHostile, h.Name, doctor.Directory)
	case h.Size > maxFile:
		return fmt.Errorf("%w: %q has %d MiB, more than %d", ErrHostile, h.Name, h.Size>>20, int64(maxFile)>>20)
	}
	return nil
}

func (r *reader) readReport(content io.Reader) error {
	if r.report {
		return fmt.Errorf("%w: it has two files %s", ErrHostile, doctor.ReportFile)
	}
	r.report = true
	if err := json.NewDecoder(content).Decode(&r.out.Report); err != nil {
		return fault(doctor.ReportFile, err)
	}
	return nil
}

// fault returns the error of a file: ErrHostile if the limit was reached, or else ErrDamaged.
func fault(name string, err error) error {
	if errors.Is(err, ErrHostile) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
}

// readObjects reads a file with one object per line.
func (r *reader) readObjects(name string, content io.Reader) error {
	lines := bufio.NewScanner(content)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if r.objects++; r.objects > maxObject {
			return fmt.Errorf("%w: it has more than %d objects", ErrHostile, maxObject)
		}
		if err := r.add(name, lines.Bytes()); err != nil {
			return fault(name, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("%w: a line of %s has more than %d MiB", ErrHostile, name, maxLine>>20)
		}
		return fault(name, err)
	}
	return nil
}

// add adds an object of a kind that pages use. It skips others.
func (r *reader) add(name string, line []byte) error {
	var meta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(line, &meta); err != nil {
		return err
	}
	gvk := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	empty, err := r.scheme.New(gvk)
	if runtime.IsNotRegisteredError(err) {
		return nil
	}
	o, ok := empty.(client.Object)
	if err != nil || !ok {
		return nil
	}
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(o); err != nil {
		r.unread[fmt.Sprintf("%s: %v", name, err)]++
		return nil
	}
	if _, ok := o.(*coordinationv1.Lease); ok && o.GetName() == status.LeaseName {
		r.out.Namespace = o.GetNamespace()
	}
	return r.out.Objects.Add(o)
}

// limit ends a stream that is too long with ErrHostile: compressed data can expand a thousandfold.
type limit struct {
	from io.Reader
	left int64
}

func (l *limit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: it holds more than %d MiB", ErrHostile, int64(maxTotal)>>20)
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

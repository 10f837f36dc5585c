package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/cli/doctor"
)

// file is one of an archive.
type file struct {
	name, content string
	kind          byte
	link          string
	// size, if not 0, is the size in the header.
	size int64
}

const (
	reported = `{"findings":[{"severity":"critical","what":"w","cause":"c","wayOut":"o"}],"missing":["m"],"time":"2026-01-02T03:04:05Z"}`
	lease    = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"ons","name":"network-operator-lock"}}` + "\n"
)

var report = file{name: doctor.ReportFile, content: reported}

// packed is an archive of files.
func packed(t *testing.T, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content)), Typeflag: tar.TypeReg, Linkname: f.link}
		if f.kind != 0 {
			h.Typeflag = f.kind
		}
		if f.size != 0 {
			h.Size = f.size
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err == nil {
		_ = w.Close()
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAnArchiveIsRead(t *testing.T) {
	a, err := Read(bytes.NewReader(packed(t, report,
		file{name: doctor.Objects + "nodes.jsonl", content: `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}` + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}` + "\n"},
		file{name: doctor.Objects + "ons/leases.jsonl", content: lease},
		file{name: doctor.Objects + "ons/strange.jsonl", content: `{"apiVersion":"example.org/v1","kind":"Strange"}` + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":7}}` + "\n"},
		file{name: doctor.Directory + "logs/ons/p/c.log", content: "a log"})))
	if err != nil {
		t.Fatal(err)
	}
	var nodes corev1.NodeList
	if err := a.Objects.List(t.Context(), &nodes); err != nil || len(nodes.Items) != 2 {
		t.Errorf("%v: %d nodes", err, len(nodes.Items))
	}
	if a.Namespace != "ons" || len(a.Report.Findings) != 1 || a.Report.Time.Year() != 2026 {
		t.Errorf("%s: %+v", a.Namespace, a.Report)
	}
	if len(a.Unread) != 1 || !strings.HasPrefix(a.Unread[0], "1 objects could not be read: ") {
		t.Errorf("unread: %q", a.Unread)
	}
}

func TestHostileAndDamagedArchivesAreRefusedInOneSentence(t *testing.T) {
	whole := packed(t, report, file{name: doctor.Objects + "ons/leases.jsonl", content: lease})
	changed := bytes.Clone(whole)
	changed[len(changed)/2] ^= 0xff
	for _, row := range []struct {
		why     string
		data    []byte
		want    error
		message string
	}{
		{"nothing", nil, ErrDamaged, ""},
		{"a text", []byte("hello"), ErrDamaged, ""},
		{"the first half", whole[:len(whole)/2], ErrDamaged, ""},
		{"without its end", whole[:len(whole)-8], ErrDamaged, ""},
		{"one byte is different", changed, ErrDamaged, ""},
		{"gzip of something else", gzipped(t, []byte("hello")), ErrDamaged, ""},
		{"no report", packed(t, file{name: doctor.Objects + "ons/leases.jsonl", content: lease}), ErrDamaged, "report.json is missing"},
		{"a report that is none", packed(t, file{name: doctor.ReportFile, content: "[]"}), ErrDamaged, "report.json"},
		{"objects that are none", packed(t, report, file{name: doctor.Objects + "nodes.jsonl", content: "{\n"}), ErrDamaged, "nodes.jsonl"},
		{"a path that leads out", packed(t, report, file{name: doctor.Directory + "../../etc/passwd"}), ErrHostile, "etc/passwd"},
		{"a path of this machine", packed(t, report, file{name: "/etc/passwd"}), ErrHostile, "/etc/passwd"},
		{"another directory", packed(t, report, file{name: "other/report.json"}), ErrHostile, "other/report.json"},
		{"a path of Windows", packed(t, report, file{name: doctor.Directory + `..\..\x`}), ErrHostile, "is not one below"},
		{"a symbolic link", packed(t, report, file{name: doctor.Directory + "objects/x.jsonl", kind: tar.TypeSymlink, link: "/etc/passwd"}), ErrHostile, "not a regular file"},
		{"a hard link", packed(t, report, file{name: doctor.Directory + "objects/x.jsonl", kind: tar.TypeLink, link: doctor.ReportFile}), ErrHostile, "not a regular file"},
		{"a device", packed(t, report, file{name: doctor.Directory + "x", kind: tar.TypeChar}), ErrHostile, "not a regular file"},
		{"two reports", packed(t, report, report), ErrHostile, "two files"},
		{"a file with a huge size in its header", packed(t, report, file{name: doctor.Directory + "x", size: maxFile + 1}), ErrHostile, "MiB"},
		{"a line without end", packed(t, report, file{name: doctor.Objects + "nodes.jsonl", content: strings.Repeat("a", maxLine+1)}), ErrHostile, "a line of"},
		{"too many objects", packed(t, report, file{name: doctor.Objects + "nodes.jsonl", content: strings.Repeat("{}\n", maxObject+1)}), ErrHostile, "objects"},
		{"too many files", packed(t, append([]file{report}, many(maxFiles)...)...), ErrHostile, "files"},
	} {
		_, err := Read(bytes.NewReader(row.data))
		if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.message) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// Compressed data may be a thousand times as long as they seem: nothing of what is over the limit is kept.
func TestABombIsRefused(t *testing.T) {
	in, out := io.Pipe()
	go func() {
		compressed, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
		w := tar.NewWriter(compressed)
		zeros := make([]byte, 1<<20)
		for i := 0; ; i++ {
			if w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%slogs/%d", doctor.Directory, i), Size: 64 << 20, Typeflag: tar.TypeReg}) != nil {
				return
			}
			for range 64 {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		}
	}()
	_, err := Read(in)
	_ = in.CloseWithError(io.ErrClosedPipe)
	if !errors.Is(err, ErrHostile) || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("%v", err)
	}
}

func TestOnlyFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	for why, name := range map[string]string{"a directory": dir, "a device": os.DevNull, "nothing": filepath.Join(dir, "none")} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "read archive") {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func FuzzNoArchiveMakesItPanic(f *testing.F) {
	f.Add([]byte("{}\n"), "objects/nodes.jsonl")
	f.Add([]byte(`{"apiVersion":"v1","kind":"Node","status":{"conditions":null}}`), "objects/nodes.jsonl")
	f.Add([]byte("null"), "report.json")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if w.WriteHeader(&tar.Header{Name: doctor.Directory + name, Size: int64(len(content)), Typeflag: tar.TypeReg}) != nil {
			return // no such archive can be written
		}
		_, _ = w.Write(content)
		_ = w.Close()
		_, _ = Read(bytes.NewReader(gzipped(t, out.Bytes())))
	})
}

func many(n int) []file {
	files := make([]file, n)
	for i := range files {
		files[i].name = fmt.Sprintf("%slogs/%d", doctor.Directory, i)
	}
	return files
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

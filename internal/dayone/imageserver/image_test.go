package imageserver

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
)

func TestEachHostGetsTheBaseImageWithItsOwnNetwork(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"worker-0.yml": dhcp, "worker-1.yaml": fixed, "README": "no document"})
	hosts := l.list()
	if len(hosts) != 2 {
		t.Fatal(hosts)
	}
	for name, want := range map[string]string{"worker-0": "method%3Dauto", "worker-1": "192.0.2.9"} {
		l.serves(name+" iso", hosts[name].ISO, want)
		l.serves(name+" initramfs", hosts[name].Initramfs, want)
	}
	_, iso := l.get("GET", hosts["worker-0"].ISO)
	differ := 0
	for i := range iso {
		if iso[i] != l.iso[i] {
			differ++
		}
	}
	if len(iso) != len(l.iso) || differ == 0 || differ > 4096 {
		t.Errorf("the ISO has %d bytes, %d of them changed", len(iso), differ)
	}
	_, initramfs := l.get("GET", hosts["worker-0"].Initramfs)
	if !bytes.HasPrefix(initramfs, l.initramfs) {
		t.Error("the initramfs does not begin with its base")
	}
}

func TestProfilesAreThereBeforeIgnitionIfAskedFor(t *testing.T) {
	base := ignition.Config([]ignition.File{{Path: "/etc/agent.conf", Mode: 0o644, Content: []byte("agent")}})
	l := newLab(t, func(o *Options) { o.EarlyNetwork, o.Base = true, &base })
	l.documents(map[string]string{"a.yml": dhcp})
	_, image := l.get("GET", l.list()["a"].Initramfs)
	config, names := l.ignition(image)
	if d := cmp.Diff([]string{"config.ign", "etc/coreos-firstboot-network/eth0.nmconnection"}, names); d != "" {
		t.Error(d)
	}
	if !strings.Contains(config, "/etc/agent.conf") || !strings.Contains(config, "system-connections/eth0.nmconnection") {
		t.Error(config)
	}
}

func TestPartsOfAnImageAreServed(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp})
	url := l.list()["a"].ISO
	whole, image := l.get("GET", url)
	tag, size := whole.Header.Get("ETag"), len(image)
	if whole.Header.Get("Accept-Ranges") != "bytes" || tag == "" {
		t.Errorf("%v", whole.Header)
	}
	for _, c := range []struct {
		why, of  string
		from, to int // to is exclusive
	}{
		{"the system area", "bytes=0-32767", 0, 32768},
		{"one byte", "bytes=5-5", 5, 6},
		{"across the beginning of the area", fmt.Sprintf("bytes=%d-%d", area(l)-10, area(l)+500), area(l) - 10, area(l) + 501},
		{"to the end", fmt.Sprintf("bytes=%d-", size-7), size - 7, size},
		{"the last bytes", "bytes=-9", size - 9, size},
		{"more than there is", fmt.Sprintf("bytes=%d-%d", size-5, size+100), size - 5, size},
	} {
		res, part := l.get("GET", url, "Range", c.of)
		want := fmt.Sprintf("bytes %d-%d/%d", c.from, c.to-1, size)
		if res.StatusCode != http.StatusPartialContent || res.Header.Get("Content-Range") != want || !bytes.Equal(part, image[c.from:c.to]) {
			t.Errorf("%s: %s, %s, %d bytes", c.why, res.Status, res.Header.Get("Content-Range"), len(part))
		}
	}
	if res, _ := l.get("GET", url, "Range", fmt.Sprintf("bytes=%d-", size)); res.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("beyond the end: %s", res.Status)
	}
	if res, part := l.get("GET", url, "Range", "bytes=0-9", "If-Range", tag); res.StatusCode != http.StatusPartialContent || len(part) != 10 {
		t.Errorf("a continued download: %s", res.Status)
	}
	if res, part := l.get("GET", url, "Range", "bytes=0-9", "If-Range", `"other"`); res.StatusCode != http.StatusOK || len(part) != size {
		t.Errorf("a download of something else: %s", res.Status)
	}
	if res, _ := l.get("HEAD", url); res.StatusCode != http.StatusOK || res.ContentLength != int64(size) {
		t.Errorf("HEAD: %s, %d bytes", res.Status, res.ContentLength)
	}
	severalParts(t, l, url, image)
}

// area is where the fixture's reserved area begins.
func area(l *lab) int {
	for i := 18 * 2048; ; i += 2048 {
		if len(bytes.Trim(l.iso[i:i+8192], "\x00")) == 0 {
			return i
		}
	}
}

func severalParts(t *testing.T, l *lab, url string, image []byte) {
	t.Helper()
	res, body := l.get("GET", url, "Range", "bytes=0-3,100000-100009")
	_, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || res.StatusCode != http.StatusPartialContent {
		t.Fatal(res.Status, err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for _, want := range [][]byte{image[0:4], image[100000:100010]} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// A live ISO has a gigabyte and a rack forty hosts: nothing may grow with the image.
func TestLargeImagesAreNeverInMemory(t *testing.T) {
	const size, part = 8 << 30, 256 << 20
	l := newLab(t, func(o *Options) {
		// A file with a hole: a small image, and nothing up to its end.
		f, err := os.OpenFile(o.ISO, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("worker-%d.yml", i)] = fixed
	}
	var before, scanned, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.documents(files)
	url := l.list()["worker-7"].ISO
	runtime.ReadMemStats(&scanned)

	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", part-1))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	n, err := io.Copy(io.Discard, res.Body)
	runtime.ReadMemStats(&after)
	if err != nil || n != part || res.Header.Get("Content-Range") != fmt.Sprintf("bytes 0-%d/%d", part-1, int64(size)) {
		t.Fatalf("%d bytes, %v, %v", n, res.Header, err)
	}
	// Client and server together: TotalAlloc only grows.
	if used := after.TotalAlloc - scanned.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated to send %d", used, part)
	}
	if used := scanned.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("%d bytes were allocated for 40 hosts", used)
	}
	if res, tail := l.get("GET", url, "Range", "bytes=-4"); res.StatusCode != http.StatusPartialContent || !bytes.Equal(tail, make([]byte, 4)) {
		t.Errorf("the end of the image: %s", res.Status)
	}
}

func TestADocumentThatDoesNotFitIsServedInTheOtherForm(t *testing.T) {
	l := newLab(t)
	// What cannot be compressed: the area has 256 KiB.
	l.documents(map[string]string{"a.yml": fmt.Sprintf("interfaces: [{name: eth0, type: ethernet, state: up, description: %x}]", isotest.Noise(400_000))})
	got := l.list()["a"]
	if got.ISO != "" || got.Initramfs == "" || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, "the image reserves 262144") {
		t.Errorf("%.500v", got)
	}
}

func BenchmarkServe(b *testing.B) {
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const size = 64 << 20
	if err := f.Truncate(size); err != nil {
		b.Fatal(err)
	}
	server := &Server{}
	server.options.Initramfs = f.Name()
	if err := server.openInitramfs(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	image, err := server.formats[0].make(make([]byte, 10_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(image.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{image.Reader()}); err != nil {
			b.Fatal(err)
		}
	}
}

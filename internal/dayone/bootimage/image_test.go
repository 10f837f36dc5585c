package bootimage

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/cpiotest"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
)

const config = `{"ignition":{"version":"3.2.0"}}`

func payload(t testing.TB, config string, more ...File) []byte {
	t.Helper()
	p, err := Payload([]byte(config), more...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnISOHasTheConfigurationInItsAreaAndNothingElseChanged(t *testing.T) {
	base := fixture(t, "rockridge.iso.gz")
	area, err := find(base)
	if err != nil {
		t.Fatal(err)
	}
	// What an area held before must not be left behind a shorter configuration.
	copy(base[area.Offset+1000:], "an older configuration")
	image, err := ISO(bytes.NewReader(base), int64(len(base)), area, payload(t, config))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(image.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(base) || image.Size() != int64(len(base)) {
		t.Fatalf("the image has %d bytes, its header %d, want %d", len(got), image.Size(), len(base))
	}
	end := area.Offset + area.Length
	if !bytes.Equal(got[:area.Offset], base[:area.Offset]) || !bytes.Equal(got[end:], base[end:]) {
		t.Error("the image changed outside its area")
	}
	files, err := cpiotest.Unpack(got[area.Offset:end])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]File{{Name: ConfigName, Mode: 0o600, Content: []byte(config)}}, filesOf(files)); d != "" {
		t.Error(d)
	}
	if bytes.Contains(got, []byte("an older configuration")) {
		t.Error("what the area held is still there")
	}
}

func TestAnInitramfsIsFollowedByTheConfiguration(t *testing.T) {
	for n := range 5 {
		base := isotest.Noise(1000 + n)
		image := Initramfs(bytes.NewReader(base), int64(len(base)), payload(t, config, File{Name: NetworkDir + "/eth0.nmconnection", Mode: 0o600, Content: []byte("x")}))
		got, err := io.ReadAll(image.Reader())
		if err != nil {
			t.Fatal(err)
		}
		begin := (len(base) + 3) / 4 * 4
		if len(got)%4 != 0 || !bytes.HasPrefix(got, base) || len(bytes.Trim(got[len(base):begin], "\x00")) > 0 {
			t.Fatalf("base of %d bytes: wrong frame", len(base))
		}
		files, err := cpiotest.Unpack(got[begin:])
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 2 || files[0].Name != ConfigName || files[1].Name != NetworkDir+"/eth0.nmconnection" {
			t.Errorf("files: %+v", files)
		}
	}
}

func TestTheSameConfigurationIsTheSameImage(t *testing.T) {
	if !bytes.Equal(payload(t, config), payload(t, config)) {
		t.Error("two payloads of one configuration differ")
	}
}

func TestAConfigurationThatDoesNotFitIsRefused(t *testing.T) {
	base := make([]byte, 1000)
	_, err := ISO(bytes.NewReader(base), 1000, Area{Offset: 100, Length: 10}, make([]byte, 11))
	var large *TooLargeError
	if !errors.As(err, &large) || large.Payload != 11 || large.Area != 10 {
		t.Errorf("%v", err)
	}
	if image, err := ISO(bytes.NewReader(base), 1000, Area{Offset: 990, Length: 10}, make([]byte, 10)); err != nil || image.Size() != 1000 {
		t.Errorf("exactly full: %v", err)
	}
	if _, err := ISO(bytes.NewReader(base), 1000, Area{Offset: 995, Length: 10}, nil); err == nil {
		t.Error("an area beyond the end was accepted")
	}
}

func TestAnImageReadsTheSameFromAnywhere(t *testing.T) {
	base := isotest.Image(isotest.CoreOS(10_000))
	area, err := find(base)
	if err != nil {
		t.Fatal(err)
	}
	image, err := ISO(bytes.NewReader(base), int64(len(base)), area, payload(t, config))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(image.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(image.Reader(), want); err != nil {
		t.Error(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := random.Int64N(image.Size() + 10)
		buf := make([]byte, random.IntN(5000))
		n, err := image.ReadAt(buf, at)
		end := min(int64(len(want)), at+int64(len(buf)))
		rest := want[min(at, int64(len(want))):max(end, min(at, int64(len(want))))]
		if !bytes.Equal(buf[:n], rest) || (err == io.EOF) != (n < len(buf)) {
			t.Fatalf("%d bytes at %d: %d bytes, %v", len(buf), at, n, err)
		}
	}
	if _, err := image.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("read before the beginning")
	}
}

func TestABaseThatGotShorterIsNoticed(t *testing.T) {
	image := Initramfs(strings.NewReader("short"), 100, payload(t, config))
	if _, err := io.ReadAll(image.Reader()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

package bootimage

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
)

// fixture reads an image made with genisoimage 1.1.11 (with and without -R -J) of the files that a CoreOS ISO has.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func find(image []byte) (Area, error) { return FindArea(bytes.NewReader(image), int64(len(image))) }

func TestTheAreaIsFoundInImagesOfOtherPrograms(t *testing.T) {
	for _, c := range []struct {
		file string
		// What isoinfo -l says about images/ignition.img.
		sector int64
	}{
		{"rockridge.iso.gz", 42},
		{"plain.iso.gz", 30},
	} {
		area, err := find(fixture(t, c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if want := (Area{Offset: c.sector * sector, Length: 256 << 10}); area != want {
			t.Errorf("%s: %+v, want %+v", c.file, area, want)
		}
	}
}

func TestTheAreaIsWhereTheImageSays(t *testing.T) {
	header := func(image []byte, offset, length uint64) []byte {
		copy(image[oldHeader:], oldMagic)
		binary.LittleEndian.PutUint64(image[oldHeader+8:], offset)
		binary.LittleEndian.PutUint64(image[oldHeader+16:], length)
		return image
	}
	marked := bytes.Repeat([]byte{7}, 5000)
	for _, c := range []struct {
		why   string
		image []byte
		want  int64 // its length
		err   string
	}{
		{"a file of its own", isotest.Image(isotest.CoreOS(100)), isotest.AreaSize, ""},
		{"an older image, without a description", isotest.Image(map[string][]byte{"images/ignition.img": make([]byte, 4096)}), 4096, ""},
		{"a part of a file, as on s390x", isotest.Image(map[string][]byte{
			"coreos/igninfo.json": []byte(`{"file":"images/cdboot.img","offset":100,"length":4000}`), "images/cdboot.img": marked}), 4000, ""},
		{"the rest of a file", isotest.Image(map[string][]byte{
			"coreos/igninfo.json": []byte(`{"file":"images/cdboot.img","offset":100}`), "images/cdboot.img": marked}), 4900, ""},
		{"an image of 2020, with a header", header(isotest.Image(map[string][]byte{"x": marked}), 18*sector, 1000), 1000, ""},

		{"nothing is reserved", isotest.Image(map[string][]byte{"x": nil}), 0, "not a CoreOS live ISO"},
		{"an empty area", isotest.Image(map[string][]byte{"images/ignition.img": nil}), 0, "does not lie in the image"},
		{"the description is a directory", isotest.Image(map[string][]byte{"coreos/igninfo.json/x": nil}), 0, "is a directory"},
		{"the description is no JSON", isotest.Image(map[string][]byte{"coreos/igninfo.json": []byte("x")}), 0, "igninfo.json"},
		{"the description names no file", isotest.Image(map[string][]byte{"coreos/igninfo.json": []byte("{}")}), 0, "names no file"},
		{"the description names a missing file", isotest.Image(map[string][]byte{"coreos/igninfo.json": []byte(`{"file":"y"}`)}), 0, "no such file"},
		{"a part outside the file", isotest.Image(map[string][]byte{
			"coreos/igninfo.json": []byte(`{"file":"x","offset":4000,"length":4000}`), "x": marked}), 0, "which has 5000"},
		{"a part that overflows", isotest.Image(map[string][]byte{
			"coreos/igninfo.json": []byte(`{"file":"x","offset":9223372036854775807,"length":2}`), "x": marked}), 0, "which has 5000"},
		{"a header that points outside", header(isotest.Image(map[string][]byte{"x": marked}), 1<<40, 1000), 0, "does not lie in the image"},
		{"a header that overflows", header(isotest.Image(map[string][]byte{"x": marked}), 1<<63, 1<<63), 0, "reserves"},
		{"a header that reserves everything", header(isotest.Image(map[string][]byte{"x": marked}), 0, 1<<50), 0, "does not lie in the image"},
		{"not an ISO", bytes.Repeat([]byte{1}, 40<<10), 0, "not an ISO 9660 image"},
		{"too short", make([]byte, 100), 0, "unexpected EOF"},
	} {
		area, err := find(c.image)
		if c.err == "" {
			if err != nil || area.Length != c.want {
				t.Errorf("%s: %+v, %v", c.why, area, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.err)
		}
	}
}

func TestAnAreaThatHoldsSomethingIsSaidToBeUsed(t *testing.T) {
	image := fixture(t, "rockridge.iso.gz")
	area, err := find(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []bool{false, true} {
		if got, err := Used(bytes.NewReader(image), area); err != nil || got != used {
			t.Errorf("used is %v, %v, want %v", got, err, used)
		}
		image[area.Offset+area.Length-1] = 1
	}
}

func FuzzFindArea(f *testing.F) {
	f.Add(isotest.Image(map[string][]byte{"coreos/igninfo.json": []byte(`{"file":"x"}`), "x": make([]byte, 10)}), 16*sector+156, byte(9))
	f.Fuzz(func(t *testing.T, image []byte, at int, with byte) {
		if at >= 0 && at < len(image) {
			image = bytes.Clone(image)
			image[at] = with
		}
		area, err := find(image)
		if err == nil && (area.Offset < 0 || area.Length <= 0 || area.Offset+area.Length > int64(len(image))) {
			t.Errorf("%+v is outside an image of %d bytes", area, len(image))
		}
	})
}

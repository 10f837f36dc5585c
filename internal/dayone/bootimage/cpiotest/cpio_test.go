package cpiotest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
)

func TestArchivesOfOthersAreRead(t *testing.T) {
	// Made with GNU cpio 2.13: cpio -o -H newc -R 0:0 --reproducible.
	data, err := os.ReadFile("testdata/gnu.cpio")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{Name: "config.ign", Mode: 0o600, Content: []byte(`{"ignition":{"version":"3.2.0"}}`)},
		{Name: "etc/coreos-firstboot-network/eth0.nmconnection", Mode: 0o644, Content: []byte("[connection]\n")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestDamagedArchivesAreErrors(t *testing.T) {
	good, err := bootimage.Archive([]bootimage.File{{Name: "config.ign", Mode: 0o600, Content: []byte("12345")}})
	if err != nil {
		t.Fatal(err)
	}
	// The zeros behind the trailer's name are no loss.
	for n := range len(good) - 3 {
		if _, err := Read(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(good))
		} else if n > 0 && n < headerSize && !errors.Is(err, errShort) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, c := range []struct{ why, from, to string }{
		{"old binary form", "070701", "070707"},
		{"a size that is no number", "00000005", "0000000G"},
		{"a sign in a number", "00000005", "+0000005"},
		{"a size beyond the end", "00000005", "FFFFFFFF"},
		{"no name", "0000000B", "00000000"},
		{"a name beyond the end", "0000000B", "00000FFF"},
		{"a name longer than the kernel reads", "0000000B", "0000FFFF"},
		{"a name that ends early", "config.ign", "config\x00ign"},
	} {
		if _, err := Read([]byte(strings.Replace(string(good), c.from, c.to, 1))); err == nil {
			t.Errorf("%s: accepted", c.why)
		}
	}
}

func TestDamagedPayloadsAreErrors(t *testing.T) {
	if _, err := Unpack(make([]byte, 200)); err == nil {
		t.Error("zeros were accepted")
	}
	good, err := bootimage.Payload([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for why, data := range map[string][]byte{"cut off": good[:len(good)-9], "no archive": []byte("hello"), "no gzip": {0x1f, 0x8b, 1}} {
		if _, err := Unpack(data); err == nil {
			t.Errorf("%s: accepted", why)
		}
	}
	plain, err := bootimage.Archive([]bootimage.File{{Name: bootimage.ConfigName}})
	if err != nil {
		t.Fatal(err)
	}
	if files, err := Unpack(plain); err != nil || len(files) != 1 {
		t.Errorf("not compressed: %v, %v", files, err)
	}
}

func FuzzRead(f *testing.F) {
	if gnu, err := os.ReadFile("testdata/gnu.cpio"); err == nil {
		f.Add(gnu)
	}
	f.Add([]byte("070701"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Read(data)
		if err != nil {
			return
		}
		// What can be read and has safe names can be written, and is the same when read again.
		again, err := bootimage.Archive(written(files))
		if err != nil {
			return
		}
		back, err := Read(again)
		if err != nil {
			t.Fatalf("our own archive: %v", err)
		}
		if d := cmp.Diff(contents(files), contents(back)); d != "" {
			t.Error(d)
		}
	})
}

// written returns files that were read as files that are written.
func written(files []File) []bootimage.File {
	var out []bootimage.File
	for _, f := range files {
		out = append(out, bootimage.File(f))
	}
	return out
}

// contents makes nil and empty contents equal.
func contents(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name, string(f.Content))
	}
	return out
}

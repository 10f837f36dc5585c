package bootimage

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArchivesOfOthersAreRead(t *testing.T) {
	// Made with GNU cpio 2.13: cpio -o -H newc -R 0:0 --reproducible.
	data, err := os.ReadFile("testdata/gnu.cpio")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unarchive(data)
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

func TestAnArchiveHasTheFormOfTheKernel(t *testing.T) {
	got, err := Archive([]File{{Name: "a/b", Mode: 0o600, Content: []byte("hello")}})
	if err != nil {
		t.Fatal(err)
	}
	zero := strings.Repeat("0", 8)
	want := "070701" + "00000001" + "000041ED" + zero + zero + "00000001" + zero + zero + strings.Repeat(zero, 4) + "00000002" + zero + "a\x00" +
		"070701" + "00000002" + "00008180" + zero + zero + "00000001" + zero + "00000005" + strings.Repeat(zero, 4) + "00000004" + zero + "a/b\x00\x00\x00" + "hello\x00\x00\x00" +
		"070701" + zero + zero + zero + zero + "00000001" + zero + zero + strings.Repeat(zero, 4) + "0000000B" + zero + "TRAILER!!!\x00" + "\x00\x00\x00"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestNamesThatWouldUnpackElsewhereAreRefused(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "/etc/x", "a//b", "a/../b", "a/", "a\x00b", "TRAILER!!!", strings.Repeat("a", maxName)} {
		if _, err := Archive([]File{{Name: name}}); err == nil {
			t.Errorf("%.20q was packed", name)
		}
	}
	if _, err := Archive([]File{{Name: "a"}, {Name: "a"}}); err == nil {
		t.Error("a name was packed twice")
	}
	if _, err := Archive([]File{{Name: "a"}, {Name: "a/b"}}); err == nil {
		t.Error("a file was packed into a file")
	}
}

func TestDamagedArchivesAreErrors(t *testing.T) {
	good, err := Archive([]File{{Name: "config.ign", Mode: 0o600, Content: []byte("12345")}})
	if err != nil {
		t.Fatal(err)
	}
	// The zeros behind the trailer's name are no loss.
	for n := range len(good) - 3 {
		if _, err := Unarchive(good[:n]); err == nil {
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
		if _, err := Unarchive([]byte(strings.Replace(string(good), c.from, c.to, 1))); err == nil {
			t.Errorf("%s: accepted", c.why)
		}
	}
}

func FuzzUnarchive(f *testing.F) {
	if gnu, err := os.ReadFile("testdata/gnu.cpio"); err == nil {
		f.Add(gnu)
	}
	f.Add([]byte("070701"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Unarchive(data)
		if err != nil {
			return
		}
		// What can be read and has safe names can be written, and is the same when read again.
		again, err := Archive(files)
		if err != nil {
			return
		}
		back, err := Unarchive(again)
		if err != nil {
			t.Fatalf("our own archive: %v", err)
		}
		if d := cmp.Diff(contents(files), contents(back)); d != "" {
			t.Error(d)
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add("config.ign", []byte("{}"), "etc/x", []byte{})
	f.Fuzz(func(t *testing.T, name string, content []byte, second string, other []byte) {
		files := []File{{Name: name, Mode: 0o600, Content: content}, {Name: second, Mode: 0o644, Content: other}}
		data, err := Archive(files)
		if err != nil {
			return
		}
		back, err := Unarchive(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(contents(files), contents(back)); d != "" {
			t.Error(d)
		}
	})
}

// contents makes nil and empty contents equal.
func contents(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name, string(f.Content))
	}
	return out
}

package bootimage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/cpiotest"
)

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

func FuzzArchive(f *testing.F) {
	f.Add("config.ign", []byte("{}"), "etc/x", []byte{})
	f.Fuzz(func(t *testing.T, name string, content []byte, second string, other []byte) {
		files := []File{{Name: name, Mode: 0o600, Content: content}, {Name: second, Mode: 0o644, Content: other}}
		data, err := Archive(files)
		if err != nil {
			return
		}
		back, err := cpiotest.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(contents(files), contents(filesOf(back))); d != "" {
			t.Error(d)
		}
	})
}

// filesOf returns files that were read as files that are written.
func filesOf(files []cpiotest.File) []File {
	var out []File
	for _, f := range files {
		out = append(out, File(f))
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

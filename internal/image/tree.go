package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is the content of one layer, by clean path without a leading slash.
type tree map[string]entry

type entry struct {
	// mode has permissions and the bits for directory, symbolic link, setuid, setgid and sticky.
	mode     fs.FileMode
	uid, gid int
	// link is the target of a symbolic link, or with hard the path in the tree that this is another name of.
	link string
	hard bool
	// A regular file has its content here, or is the file source of this machine.
	content []byte
	source  string
}

// merged are the directories that Debian keeps below /usr, with links in their place.
func merged() []string { return []string{"bin", "lib", "lib32", "lib64", "libx32", "sbin"} }

// clean returns the key of an absolute path or a path of a package, with /bin, /sbin and /lib* below /usr.
func clean(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	top, _, _ := strings.Cut(name, "/")
	if slices.Contains(merged(), top) {
		return "usr/" + name
	}
	return name
}

// add adds an entry, and the directories above it that are missing. Later entries win, but a directory never
// replaces a directory.
func (t tree) add(name string, e entry) {
	key := clean(name)
	if key == "" {
		return
	}
	if old, ok := t[key]; ok && old.mode.IsDir() && e.mode.IsDir() {
		return
	}
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = entry{mode: fs.ModeDir | parentMode(dir)}
		}
	}
	t[key] = e
}

// parentMode is the permissions of a directory that is made only because something is in it.
func parentMode(dir string) fs.FileMode {
	switch dir {
	case "tmp", "var/tmp":
		return fs.ModeSticky | 0o777
	case "root":
		return 0o700
	default:
		return 0o755
	}
}

// write writes the tree as a tar: sorted, directories before what is in them, other names of a file last.
func (t tree) write(ctx context.Context, w io.Writer) error {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		if t[a].hard != t[b].hard {
			if t[a].hard {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	tw := tar.NewWriter(w)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t[name].write(tw, name); err != nil {
			return fmt.Errorf("/%s: %w", name, err)
		}
	}
	return tw.Close()
}

func (e entry) write(tw *tar.Writer, name string) error {
	h := &tar.Header{Name: name, Mode: tarMode(e.mode), Uid: e.uid, Gid: e.gid, ModTime: time.Unix(0, 0)}
	switch {
	case e.hard:
		h.Typeflag, h.Linkname = tar.TypeLink, e.link
	case e.mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	case e.mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	default:
		return e.writeFile(tw, h)
	}
	return tw.WriteHeader(h)
}

func (e entry) writeFile(tw *tar.Writer, h *tar.Header) error {
	h.Typeflag, h.Size = tar.TypeReg, int64(len(e.content))
	var r io.Reader = bytes.NewReader(e.content)
	if e.source != "" {
		f, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.Size, r = info.Size(), f
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, r)
	return err
}

// tarMode are the mode bits as a tar header holds them.
func tarMode(m fs.FileMode) int64 {
	bits := int64(m.Perm())
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

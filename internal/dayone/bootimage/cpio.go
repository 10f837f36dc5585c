package bootimage

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// File is a regular file of an archive.
type File struct {
	// Name is its path in the initial file system, without a leading slash.
	Name string
	// Mode is its permission bits.
	Mode uint32
	// Content is the content of the file.
	Content []byte
}

// The format of a header: the magic number and thirteen fields of eight hexadecimal digits.
const (
	magic       = "070701"
	trailer     = "TRAILER!!!"
	typeMask    = 0o170000
	typeDir     = 0o040000
	typeRegular = 0o100000
)

// The indexes of the used fields in the header.
const (
	fieldInode = iota
	fieldMode
	_ // user
	_ // group
	fieldLinks
	_ // time
	fieldSize
	_ // device, major
	_ // device, minor
	_ // device of a node, major
	_ // device of a node, minor
	fieldNameSize
	_ // checksum
	fieldCount
)

// maxName is the maximum length of a name in the kernel (PATH_MAX), including the final zero byte.
const maxName = 4096

// Archive creates an archive of files in the given order, owned by root and without times. It adds parent directories. A name that is empty, absolute, not
// clean or a duplicate is an error.
func Archive(files []File) ([]byte, error) {
	var out bytes.Buffer
	written := map[string]uint32{} // types by name
	inode := 0
	write := func(name string, mode uint32, content []byte) {
		inode++
		written[name] = mode & typeMask
		entry(&out, inode, name, mode, content)
	}
	for _, f := range files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		if written[f.Name] != 0 {
			return nil, fmt.Errorf("archive has %q twice", f.Name)
		}
		if len(f.Content) > 1<<32-1 {
			return nil, fmt.Errorf("archive file %q is larger than 4 GiB", f.Name)
		}
		for _, dir := range parents(f.Name) {
			switch written[dir] {
			case 0:
				write(dir, typeDir|0o755, nil)
			case typeRegular:
				return nil, fmt.Errorf("archive has %q as a file and as a directory", dir)
			}
		}
		write(f.Name, typeRegular|f.Mode&0o7777, f.Content)
	}
	entry(&out, 0, trailer, 0, nil)
	return out.Bytes(), nil
}

func checkName(name string) error {
	switch {
	case name == "" || name == "." || strings.HasPrefix(name, "/") || path.Clean(name) != name || strings.HasPrefix(name, ".."):
		return fmt.Errorf("archive name %q is not a path below the root", name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("archive name %q has a zero byte", name)
	case name == trailer:
		return fmt.Errorf("archive name %q means the end of the archive", name)
	case len(name)+1 > maxName:
		return fmt.Errorf("archive name of %d bytes: the most is %d", len(name), maxName-1)
	}
	return nil
}

// parents lists the directories of a path, the outermost first.
func parents(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}

func entry(out *bytes.Buffer, inode int, name string, mode uint32, content []byte) {
	var f [fieldCount]uint64
	f[fieldInode], f[fieldMode], f[fieldLinks] = uint64(inode), uint64(mode), 1
	f[fieldSize], f[fieldNameSize] = uint64(len(content)), uint64(len(name)+1)
	out.WriteString(magic)
	for _, v := range f {
		fmt.Fprintf(out, "%08X", v)
	}
	out.WriteString(name)
	out.WriteByte(0)
	pad(out)
	out.Write(content)
	pad(out)
}

// pad fills up to the next multiple of four bytes, on which headers and contents begin.
func pad(out *bytes.Buffer) {
	out.Write(make([]byte, padding(int64(out.Len()))))
}

func padding(n int64) int64 { return (4 - n%4) % 4 }

package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Where the files are, and the names that mean something.
const (
	// Dir is the directory on a node.
	Dir = "/etc/nmstate/openshift"
	// ClusterFile is for every host that has no file of its own.
	ClusterFile = "cluster.yml"
	// IndexFile maps MAC addresses to files, as an Index in JSON. Its name does not end in Extension, so that nodes
	// that know nothing of it leave it alone.
	IndexFile = "hosts-by-mac.json"
	// Extension is the only one that is read. In particular .yaml is not.
	Extension = ".yml"
	// AppliedFile is a marker that nodes write beside the files; it is not one of them.
	AppliedFile = "applied"
)

// MaxFileSize bounds what is read of one file, in bytes. The largest object that can bring files to nodes is 1.5 MiB in all.
const MaxFileSize = 4 << 20

// Bridge is the bridge that OVN-Kubernetes uses, and that every document must make: nodes with a document of their own
// do not get it by themselves.
const Bridge = "br-ex"

// File is one file of a Dir: its name without a directory, and what is in it.
type File struct {
	Name    string
	Content []byte
}

// Files are those of one Dir, sorted by name.
type Files []File

// Role is the files of one role.
type Role struct {
	Name  string
	Files Files
}

// Sort returns the files in the order of their names. The receiver is left as it is.
func (f Files) Sort() Files {
	return slices.SortedFunc(slices.Values(f), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// Get returns the file of a name.
func (f Files) Get(name string) (File, bool) {
	i := slices.IndexFunc(f, func(have File) bool { return have.Name == name })
	if i < 0 {
		return File{}, false
	}
	return f[i], true
}

// Documents returns the files that Select can choose, in the same order.
func (f Files) Documents() Files {
	return slices.Collect(func(yield func(File) bool) {
		for _, file := range f {
			if strings.HasSuffix(file.Name, Extension) && !yield(file) {
				return
			}
		}
	})
}

// Hidden reports whether a file of the directory is none of the documents and not for their readers.
func Hidden(name string) bool { return strings.HasPrefix(name, ".") }

// ReadDir reads the files at the top of a file system. Directories, hidden files and AppliedFile are left out; what
// cannot be read is an error. A file system that does not exist holds no files.
func ReadDir(fsys fs.FS) (Files, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list files of host network configuration: %w", err)
	}
	var files Files
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || Hidden(name) || name == AppliedFile {
			continue
		}
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", name, err)
		}
		if info.IsDir() {
			continue
		}
		if info.Size() > MaxFileSize {
			return nil, fmt.Errorf("%s has %d bytes, and a file may have %d", name, info.Size(), MaxFileSize)
		}
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		files = append(files, File{Name: name, Content: content})
	}
	return files.Sort(), nil
}

package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The directory of the files, and special names.
const (
	// Dir is the directory on a node.
	Dir = "/etc/nmstate/openshift"
	// ClusterFile is the file of all hosts without a separate file.
	ClusterFile = "cluster.yml"
	// IndexFile maps MAC addresses to files, as an Index in JSON. Its name does not end in Extension, so that other implementations ignore it.
	IndexFile = "hosts-by-mac.json"
	// Extension is the only supported extension; .yaml is not.
	Extension = ".yml"
	// AppliedFile is a marker file that nodes write to the directory.
	AppliedFile = "applied"
)

// MaxFileSize is the maximum size of a file in bytes. The maximum size of an object with files is 1.5 MiB.
const MaxFileSize = 4 << 20

// Bridge is the bridge of OVN-Kubernetes, which every document must define: it is not created automatically on nodes with a document.
const Bridge = "br-ex"

// File is a file of a Dir: its name without a directory, and its content.
type File struct {
	Name    string
	Content []byte
}

// Files are the files of a Dir, sorted by name.
type Files []File

// Role is the files of one role.
type Role struct {
	Name  string
	Files Files
}

// Sort returns the files sorted by name. It does not modify the receiver.
func (f Files) Sort() Files {
	return slices.SortedFunc(slices.Values(f), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// Get returns the file of a name.
func (f Files) Get(name string) (File, bool) {
	i := slices.IndexFunc(f, func(existing File) bool { return existing.Name == name })
	if i < 0 {
		return File{}, false
	}
	return f[i], true
}

// Documents returns the files that Select can select, in the same order.
func (f Files) Documents() Files {
	return slices.Collect(func(yield func(File) bool) {
		for _, file := range f {
			if strings.HasSuffix(file.Name, Extension) && !yield(file) {
				return
			}
		}
	})
}

// Hidden reports whether readers of the directory must ignore a file.
func Hidden(name string) bool { return strings.HasPrefix(name, ".") }

// ReadDir reads the files in the root directory of a file system, except directories, hidden files and AppliedFile. Files that cannot be read are an error. A
// missing directory has no files.
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

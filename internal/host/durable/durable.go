// Package durable writes files atomically: a reader, even after a power failure, sees either the old or the new content. Replace alone does not promise the latter.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// temporary is part of the names of temporary files. These names begin with a dot, so that readers of directories skip them.
const temporary = ".unfinished-"

// WriteFile replaces a file, and creates its parent directories. The file has exactly the given permissions.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return Copy(name, bytes.NewReader(data), perm)
}

// Copy replaces a file with the content of a reader.
func Copy(name string, from io.Reader, perm fs.FileMode) error {
	if err := replace(name, from, perm, (*os.File).Sync); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// Replace is WriteFile without waiting for the disk: the file survives the end of the process, but after a power failure it may have the old content or none. It is
// for what is of no use after a power failure.
func Replace(name string, data []byte, perm fs.FileMode) error {
	return replace(name, bytes.NewReader(data), perm, func(*os.File) error { return nil })
}

// replace replaces a file after sync has been called for the new one.
func replace(name string, from io.Reader, perm fs.FileMode, sync func(*os.File) error) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+temporary+"*")
	if err != nil {
		return fmt.Errorf("create temporary file: %w", err)
	}
	if err := fill(f, from, perm, sync); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.Name(), err), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return errors.Join(fmt.Errorf("rename file: %w", err), os.Remove(f.Name()))
	}
	return nil
}

func fill(f *os.File, from io.Reader, perm fs.FileMode, sync func(*os.File) error) error {
	_, err := io.Copy(f, from)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = sync(f)
	}
	return errors.Join(err, f.Close())
}

// Remove removes a file, so that it stays removed after a power failure. A file that does not exist is no error.
func Remove(name string) error {
	if err := os.Remove(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("remove file: %w", err)
	}
	return syncDir(filepath.Dir(name))
}

// Rename renames a file or a directory, so that it has its new name after a power failure. Both names are in the same directory.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// syncDir makes a rename survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// WriteIfChanged replaces a file unless it has the given content, and reports whether it wrote the file.
func WriteIfChanged(name string, data []byte, perm fs.FileMode) (bool, error) {
	if existing, err := os.ReadFile(name); err == nil && bytes.Equal(existing, data) {
		return false, nil
	}
	return true, WriteFile(name, data, perm)
}

// Clean removes temporary files of name that a crash left.
func Clean(name string) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+temporary+"*"))
	if err != nil {
		return fmt.Errorf("look for unfinished files: %w", err)
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished file: %w", err)
		}
	}
	return nil
}

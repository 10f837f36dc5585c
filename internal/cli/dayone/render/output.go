package render

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output is a form of hosts: files in a directory, or the same as one stream.
type output struct {
	files  []file
	stream [][]byte
	// separator is written between the parts of a stream; empty if there can be only one part.
	separator string
	// about describes one part.
	about string
}

type file struct {
	// name is a slash path below the directory.
	name    string
	content []byte
}

// write writes files to dir, or the stream to stdout if dir is empty. Files can contain secrets of the network: only their owner may read
// them, which NetworkManager requires, too.
func (o output) write(stdout io.Writer, dir string) error {
	if dir != "" {
		return o.writeFiles(dir)
	}
	if len(o.stream) > 1 && o.separator == "" {
		return fmt.Errorf("standard output takes %s, and there are %d: name one with --host, or a directory with --dir", o.about, len(o.stream))
	}
	for i, part := range o.stream {
		if i > 0 {
			if _, err := io.WriteString(stdout, o.separator); err != nil {
				return fmt.Errorf("write output: %w", err)
			}
		}
		if _, err := stdout.Write(part); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

func (o output) writeFiles(dir string) error {
	for _, f := range o.files {
		if !filepath.IsLocal(filepath.FromSlash(f.name)) {
			return fmt.Errorf("write output: %q is not a name below %s", f.name, dir)
		}
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if err := replace(path, f.content); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// replace writes a file in one step, so that no reader sees an incomplete file, and with its mode from the beginning.
func replace(path string, content []byte) error {
	// CreateTemp creates files that only their owner may read.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".render-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

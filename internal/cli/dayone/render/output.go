package render

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/host/durable"
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
		if err := durable.WriteFile(path, f.content, 0o600); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

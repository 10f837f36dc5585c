package offline

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Destination is a destination of objects: a file, a directory (an existing one, or a name that ends in /), or
// Stdout, named "-".
type Destination struct {
	Name   string
	Stdout io.Writer
}

// Write writes objects in their order: as one YAML stream, or into a directory as one file each, whose names begin with a
// number so that they sort in that order. Files are replaced atomically.
func (d Destination) Write(objs []manifest.Object) error {
	if info, err := os.Stat(d.Name); strings.HasSuffix(d.Name, "/") || err == nil && info.IsDir() {
		return d.writeDirectory(objs)
	}
	data, err := manifest.Encode(objs)
	if err != nil {
		return err
	}
	if d.Name == "-" {
		_, err = d.Stdout.Write(data)
		return err
	}
	// A device or a pipe cannot be replaced, only written to.
	if info, err := os.Stat(d.Name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(d.Name, data, 0)
	}
	return replace(d.Name, data)
}

func (d Destination) writeDirectory(objs []manifest.Object) error {
	if err := os.MkdirAll(d.Name, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	for i, o := range objs {
		data, err := manifest.Encode([]manifest.Object{o})
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(d.Name, fileName(i, o)), data); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns for example 003-configmap-openshift-flannel-flannel-config.yaml.
func fileName(i int, o manifest.Object) string {
	parts := []string{fmt.Sprintf("%03d", i), strings.ToLower(o.Object.GetKind())}
	if ns := o.Object.GetNamespace(); ns != "" {
		parts = append(parts, ns)
	}
	name := strings.Join(append(parts, o.Object.GetName()), "-")
	return strings.Map(func(r rune) rune {
		if r == '/' || r == ':' {
			return '-'
		}
		return r
	}, name) + ".yaml"
}

func replace(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrUnusable, name, err)
	}
	return nil
}

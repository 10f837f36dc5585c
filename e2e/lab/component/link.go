package component

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Report prints the progress of builds.
type Report struct {
	// Out receives the lines; nil discards them.
	Out io.Writer
	// Now returns the current time.
	Now func() time.Time
}

// Ensure builds what is missing, one component after the other, and links all
// of them into dir under their names.
func (b Builder) Ensure(ctx context.Context, list []Component, dir string, r Report) error {
	for i, c := range list {
		built, err := b.Built(c)
		if err != nil {
			return err
		}
		start := r.Now()
		if !built {
			r.printf("[%d/%d] %s %s ... ", i+1, len(list), c.Name, c.Version)
		}
		path, err := b.Build(ctx, c)
		if err != nil {
			r.printf("failed\n")
			return err
		}
		if !built {
			r.printf("%s\n", r.Now().Sub(start).Round(time.Second))
		}
		if err := link(path, filepath.Join(dir, c.Name)); err != nil {
			return fmt.Errorf("link %s: %w", c.Name, err)
		}
	}
	return nil
}

// link replaces the file at name atomically, because other processes may be
// starting the program by that name.
func link(target, name string) error {
	if now, err := os.Readlink(name); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	return os.Rename(temp, name)
}

func (r Report) printf(format string, args ...any) {
	if r.Out != nil {
		fmt.Fprintf(r.Out, format, args...)
	}
}

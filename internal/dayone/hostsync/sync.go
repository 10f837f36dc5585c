package hostsync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// copiedFile is the name of the list of copied files, in the directory on the host. Only listed files are removed. The name begins with a dot, because
// readers of the directory skip such files.
const copiedFile = ".copied"

// formerCopiedFile is what earlier versions call that list.
const formerCopiedFile = ".brought"

// fileMode is the mode of files on the host.
const fileMode = 0o644

// sync copies the files of From to the directory on the host, and removes copied files that are no longer in From. It keeps all other files, unless they
// have the name of a file in From.
func (a *Agent) sync() error {
	if a.From == "" && !a.Withdraw {
		return nil
	}
	var desired placement.Files
	if !a.Withdraw {
		var err error
		if desired, err = placement.ReadDir(os.DirFS(a.From)); err != nil {
			return fmt.Errorf("read files to copy: %w", err)
		}
	}
	if err := os.MkdirAll(a.To, 0o755); err != nil {
		return fmt.Errorf("create directory on the host: %w", err)
	}
	before, err := a.copied()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(desired))
	for _, file := range desired {
		names = append(names, file.Name)
	}
	// The list contains files before they are copied and until they are removed, so that it is complete if the process ends in between.
	if err := a.saveCopied(union(before, names)); err != nil {
		return err
	}
	for _, file := range desired {
		if err := a.copyFile(file); err != nil {
			return err
		}
	}
	for _, name := range before {
		if _, keep := desired.Get(name); keep {
			continue
		}
		if err := os.Remove(filepath.Join(a.To, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove obsolete file: %w", err)
		}
		a.Log.Info("removed", "file", name)
	}
	return a.saveCopied(names)
}

// copyFile writes a file unless it has the same content.
func (a *Agent) copyFile(file placement.File) error {
	path := filepath.Join(a.To, file.Name)
	if existing, err := os.ReadFile(path); err == nil && bytes.Equal(existing, file.Content) {
		return nil
	}
	if err := durable.WriteFile(path, file.Content, fileMode); err != nil {
		return fmt.Errorf("copy %s: %w", file.Name, err)
	}
	a.Log.Info("copied", "file", file.Name)
	return nil
}

func (a *Agent) copied() ([]string, error) {
	content, err := os.ReadFile(filepath.Join(a.To, copiedFile))
	if errors.Is(err, fs.ErrNotExist) {
		content, err = os.ReadFile(filepath.Join(a.To, formerCopiedFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read list of copied files: %w", err)
	}
	var names []string
	if err := json.Unmarshal(content, &names); err != nil {
		return nil, fmt.Errorf("decode list of copied files: %w", err)
	}
	for _, name := range names {
		if name != filepath.Base(name) || name == "." || name == ".." {
			return nil, fmt.Errorf("the list of copied files has %q, which is not a file of the directory", name)
		}
	}
	return names, nil
}

func (a *Agent) saveCopied(names []string) error {
	content, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode list of copied files: %w", err)
	}
	path := filepath.Join(a.To, copiedFile)
	if existing, err := os.ReadFile(path); err != nil || !bytes.Equal(existing, content) {
		if err := durable.WriteFile(path, content, fileMode); err != nil {
			return fmt.Errorf("write list of copied files: %w", err)
		}
	}
	if err := os.Remove(filepath.Join(a.To, formerCopiedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the former list of copied files: %w", err)
	}
	return nil
}

func union(a, b []string) []string {
	seen, all := map[string]bool{}, []string{}
	for _, name := range append(append([]string{}, a...), b...) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

package courier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// broughtFile, in the directory on the host, lists what was brought, so that nothing else is ever removed. Its name begins with a
// dot, which readers of the directory leave out.
const broughtFile = ".brought"

// deliver makes the directory on the host hold the files of From, and removes those that were brought before and are gone. Files
// of others stay, unless one has the name of a file to bring.
func (c *Courier) deliver() error {
	if c.From == "" && !c.Withdraw {
		return nil
	}
	var wanted placement.Files
	if !c.Withdraw {
		var err error
		if wanted, err = placement.ReadDir(os.DirFS(c.From)); err != nil {
			return fmt.Errorf("read files to copy: %w", err)
		}
	}
	if err := os.MkdirAll(c.To, 0o755); err != nil {
		return fmt.Errorf("create directory on the host: %w", err)
	}
	before, err := c.brought()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(wanted))
	for _, file := range wanted {
		names = append(names, file.Name)
	}
	// What may come is listed before it comes, and what goes until it is gone: a courier that dies in between forgets nothing.
	if err := c.remember(union(before, names)); err != nil {
		return err
	}
	for _, file := range wanted {
		if err := c.put(file); err != nil {
			return err
		}
	}
	for _, name := range before {
		if _, stays := wanted.Get(name); stays {
			continue
		}
		if err := os.Remove(filepath.Join(c.To, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove file that is no longer wanted: %w", err)
		}
		c.Log.Info("removed", "file", name)
	}
	return c.remember(names)
}

// put writes a file unless it is there already.
func (c *Courier) put(file placement.File) error {
	path := filepath.Join(c.To, file.Name)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, file.Content) {
		return nil
	}
	if err := replace(path, file.Content); err != nil {
		return fmt.Errorf("copy %s: %w", file.Name, err)
	}
	c.Log.Info("copied", "file", file.Name)
	return nil
}

func (c *Courier) brought() ([]string, error) {
	content, err := os.ReadFile(filepath.Join(c.To, broughtFile))
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

func (c *Courier) remember(names []string) error {
	content, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode list of copied files: %w", err)
	}
	path := filepath.Join(c.To, broughtFile)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := replace(path, content); err != nil {
		return fmt.Errorf("write list of copied files: %w", err)
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

// replace writes a file so that anyone who reads it, also after a loss of power, finds the old content or the new one.
func replace(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone already if all went well
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

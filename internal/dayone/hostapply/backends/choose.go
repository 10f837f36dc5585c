// Package backends selects the backend of a host.
package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Kind is the kind of a backend.
type Kind string

// The kinds of backends.
const (
	// Auto is NetworkManager where it runs, and Netlink elsewhere.
	Auto           Kind = "auto"
	NetworkManager Kind = "networkmanager"
	Netlink        Kind = "netlink"
)

// Set implements pflag.Value.
func (k *Kind) Set(s string) error {
	switch Kind(s) {
	case Auto, NetworkManager, Netlink:
		*k = Kind(s)
		return nil
	}
	return errors.New("it is auto, networkmanager or netlink")
}

// String implements pflag.Value.
func (k *Kind) String() string { return string(*k) }

// Type implements pflag.Value.
func (k *Kind) Type() string { return "backend" }

// ErrNotRunning is the error if NetworkManager is requested and does not run.
var ErrNotRunning = errors.New("NetworkManager does not run")

// Choose returns the backend to use, which is never Auto. A change in progress is completed by the backend that started it, even if another one is
// requested, because only that backend can read its snapshot. dir is the engine's directory.
func Choose(asked Kind, dir string, managerRuns bool) (Kind, error) {
	begun, err := begun(dir)
	if err != nil {
		return "", err
	}
	kind := asked
	switch {
	case begun != "":
		kind = begun
	case asked == Auto && managerRuns:
		kind = NetworkManager
	case asked == Auto:
		kind = Netlink
	}
	if kind == NetworkManager && !managerRuns {
		return "", ErrNotRunning
	}
	return kind, nil
}

// begun returns the backend of the change in progress; empty if there is none.
func begun(dir string) (Kind, error) {
	if _, err := os.Stat(filepath.Join(dir, "journal.json")); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "backend"))
	if err != nil {
		return "", fmt.Errorf("read the backend of the change in progress: %w", err)
	}
	var k Kind
	if err := k.Set(strings.TrimSpace(string(data))); err != nil || k == Auto {
		return "", fmt.Errorf("%s holds %q", filepath.Join(dir, "backend"), data)
	}
	return k, nil
}

// Remember records the backend before its first change.
func Remember(dir string, k Kind) error {
	path := filepath.Join(dir, "backend")
	if data, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(data)) == string(k) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, []byte(k+"\n"), 0o600)
}
